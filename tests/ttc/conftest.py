"""Real media files, written as the tests need them, and a real HTTP server."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

WriteVideo = Callable[..., Path]


@pytest.fixture
def write_video(tmp_path: Path) -> WriteVideo:
    """Writes an H.264 MP4 whose frame i is gray of brightness `10 + step * i`, index first, so that a cut file still opens."""

    def write(
        name: str = "clip.mp4",
        *,
        frames: int = 30,
        rate: int = 10,
        step: int = 7,
        size: tuple[int, int] = (64, 48),
        flags: str = "faststart",
    ) -> Path:
        path = tmp_path / name
        with av.open(path, "w", options={"movflags": flags}) as container:
            stream = container.add_stream("libx264", rate=rate, options={"crf": "10", "g": "5"})
            stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
            container.start_encoding()
            for index in range(frames):
                pixels = np.full((size[1], size[0], 3), 10 + step * index, np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            container.mux(stream.encode())
        return path

    return write


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
