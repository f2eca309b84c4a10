"""A server of the OpenAI chat interface on the loopback, whose answers a function gives."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def serve(answer, refuses=(), requests=None):
    """Serves ``answer(prompt)``; the result is the base URL.

    The answer is a text, the fields of a choice as a dictionary, or an HTTP status, a body and its headers. A
    parameter of ``refuses`` is status 422. ``requests`` collects all.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if requests is not None:
                requests.append(request)
            for name in refuses:
                if name in request:
                    self.reply(422, f"extra input: {name}")
                    return
            given = answer(request["messages"][-1]["content"])
            if isinstance(given, tuple):
                self.reply(*given)
                return
            choice = {"index": 0, "finish_reason": "stop"}
            reply = {"id": "0", "created": 0, "model": request["model"]}
            message = {"role": "assistant", "content": given}
            if request.get("stream"):
                reply |= {"object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
                body = f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n"
                self.reply(200, body, {"Content-Type": "text/event-stream"})
                return
            choice |= given if isinstance(given, dict) else {"message": message}
            usage = {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
            reply |= {"object": "chat.completion", "choices": [choice], "usage": usage}
            self.reply(200, json.dumps(reply), {"Content-Type": "application/json"})

        def reply(self, status, body="", headers=None):
            self.send_response(status)
            for name, value in (headers or {"Content-Type": "text/html"}).items():
                self.send_header(name, value)
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
