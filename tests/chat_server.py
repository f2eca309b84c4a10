"""A local server with the OpenAI chat interface, whose answers come from a function."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

JSON = {"Content-Type": "application/json"}


@contextmanager
def serve(answer):
    """Serves ``answer(prompt)`` for each request, and yields the base URL.

    The answer can be a text, a dictionary with the fields of a choice, or a tuple of an HTTP status, a body and
    headers.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            given = answer(request["messages"][-1]["content"])
            if isinstance(given, str):
                given = {"message": {"role": "assistant", "content": given}}
            if isinstance(given, dict):
                choice = {"index": 0, "finish_reason": "stop", **given}
                usage = {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
                reply = {"id": "0", "object": "chat.completion", "created": 0, "model": request["model"]}
                given = 200, json.dumps({**reply, "choices": [choice], "usage": usage}), JSON
            status, body, headers = given
            self.send_response(status)
            for name, value in headers.items():
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
