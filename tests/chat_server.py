"""A server of the OpenAI chat interface on the loopback, whose answers a function gives."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def serve(answer, whole=False):
    """Serves ``answer(prompt)``, a text or an HTTP status, or the ``whole`` body; the result is the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = answer(request["messages"][-1]["content"])
            if isinstance(text, int):
                self.send_response(text)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if whole:
                is_page = isinstance(text, str)
                self.reply(text if is_page else json.dumps(text), "text/html" if is_page else "application/json")
                return
            choice = {"index": 0, "finish_reason": "stop"}
            reply = {"id": "0", "created": 0, "model": request["model"]}
            message = {"role": "assistant", "content": text}
            if request.get("stream"):
                reply |= {"object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
                body, kind = f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n", "text/event-stream"
            else:
                usage = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
                reply |= {"object": "chat.completion", "choices": [{**choice, "message": message}], "usage": usage}
                body, kind = json.dumps(reply), "application/json"
            self.reply(body, kind)

        def reply(self, body, kind):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
