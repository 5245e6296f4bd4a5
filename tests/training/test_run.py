"""What becomes of a finished verifier."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from huggingface_hub import constants

from training.run import _push
from ttc.errors import UserError


class _Hub(BaseHTTPRequestHandler):
    """As much of the hub's protocol as a push of small files needs."""

    pushed: dict[str, Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said: dict[str, Any] = {"url": f"{constants.ENDPOINT}/me/verifier"}
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            said = {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]}
        elif "/commit/" in self.path:
            rows = [json.loads(line) for line in body.splitlines()]
            self.pushed["files"] = {row["value"]["path"] for row in rows if row["key"] == "file"}
            said = {"commitUrl": f"{constants.ENDPOINT}/me/verifier/commit/1", "commitOid": "1" * 40, "pullRequestUrl": None}
        elif "/create" in self.path:
            self.pushed["repository"] = json.loads(body)
        self._say(said)

    def do_GET(self) -> None:
        self._say({"id": "me/verifier", "sha": "0" * 40, "siblings": []})

    def _say(self, said: dict[str, Any]) -> None:
        content = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What a hub on this machine was sent."""
    pushed: dict[str, Any] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Hub", (_Hub,), {"pushed": pushed}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_none")
    yield pushed
    server.shutdown()
    server.server_close()


def test_a_verifier_is_pushed_without_its_checkpoints_and_curves(tmp_path, hub):
    for name in ("model.safetensors", "README.md", "checkpoints/checkpoint-1/model.safetensors", "wandb/run", "wandb.id"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    _push(tmp_path, "me/verifier", private=True)
    assert hub["files"] == {"model.safetensors", "README.md"}
    assert (hub["repository"]["name"], hub["repository"]["visibility"]) == ("verifier", "private")


def test_a_hub_out_of_reach_is_one_line_that_says_where_the_verifier_is(tmp_path, hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=f"not pushed \\(ConnectError\\); the verifier is in {tmp_path}"):
        _push(tmp_path, "me/verifier", private=True)
