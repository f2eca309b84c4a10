"""The server of play_in_browser.py in a thread, for the tests of its routes and of its page."""

import contextlib
import socket
import threading

import play_in_browser


@contextlib.contextmanager
def serve(args):
    """Yields the address of a running server."""
    server = play_in_browser.make_server(args)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
