"""A real HTTP server for tests of backends and judges."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class ChatServer:
    """A chat-completions server on the loopback that answers as a test says: `answer(body, number of the call) -> Reply`."""

    @dataclass
    class Reply:
        status: int = 200
        body: object = None
        """Sent as JSON, or as it is where bytes."""
        headers: dict[str, str] = field(default_factory=dict)
        stall: float = 0.0
        """Seconds before anything is sent."""
        cut: int | None = None
        """Bytes of the body after which the connection breaks; -1 sends nothing at all."""

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any], int], ChatServer.Reply] = lambda body, number: self.says(body, "Answer: A")
        self.bodies: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.authorizations: list[str] = []
        self.running = self.most = 0
        self.lock, self.closing = threading.Lock(), threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def says(self, body: dict[str, Any], *texts: str, **usage: Any) -> "ChatServer.Reply":
        """A completion with these choices; 3 tokens each."""
        choices = [
            {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for index, text in enumerate(texts)
        ]
        counts = {"prompt_tokens": 7, "completion_tokens": 3 * len(texts), "total_tokens": 7 + 3 * len(texts), **usage}
        content = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        return self.Reply(body={**content, "choices": choices, "usage": counts})

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        with self.lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.times.append(time.monotonic())
            self.authorizations.append(handler.headers["authorization"])
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            reply = self.answer(body, number)
            self.closing.wait(reply.stall)
            self._send(handler, reply)
        except OSError:
            pass  # the client has gone
        finally:
            with self.lock:
                self.running -= 1

    def _send(self, handler: BaseHTTPRequestHandler, reply: "ChatServer.Reply") -> None:
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        handler.close_connection = reply.cut is not None
        if reply.cut == -1:
            return
        handler.send_response(reply.status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **reply.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content[: reply.cut])


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()
