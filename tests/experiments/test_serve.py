"""A strategy behind an OpenAI-compatible endpoint, asked by OpenAI's own client."""

import asyncio
import base64
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import openai
import pytest
import yaml
from PIL import Image
from pyarrow import dataset

from experiments.config import validate
from experiments.endpoint.app import Server, listening
from experiments.endpoint.asked import Asked, Refused
from experiments.endpoint.service import Service
from ttc.answers.listed import listed_options
from ttc.bank import Bank
from ttc.errors import UserError

CHOICE = "Which of these?\n\n(A) one\n(B) two\n(C) three\n\nEnd with Answer: X."
CONFIG = {
    "benchmark": {"kind": "pocket", "split": "validation"},
    "backend": {
        "kind": "scripted",
        "replies": ["so Answer: B", "Answer: B", "Answer: C", "no idea"],
        "when": {
            "How much": ["Answer: 1/2", "Answer: 0.5", "Answer: 3"],
        },
    },
    "verifiers": {"told": {"kind": "scripted", "scores": {"Answer: C": 1.0}, "tokens_per_reply": 7}},
    "strategies": [{"kind": "vote", "n": 4}, {"kind": "best_of_n", "n": 3, "verifier": "told"}],
}


class Served:
    """`ttc serve` in a process of its own."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        config = folder / "serve.yaml"
        config.write_text(yaml.safe_dump({**CONFIG, "bank": str(folder / "bank"), **changes}))
        command = [sys.executable, "-m", "experiments", "serve", str(config), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        self.url = said.rpartition(" at ")[2].strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", self.url), said
        self.client = openai.OpenAI(base_url=self.url, api_key="none", max_retries=0)

    def ask(self, content: Any, model: str = "vote", **settings: Any) -> Any:
        messages = [{"role": "user", "content": content}]
        return self.client.chat.completions.create(model=model, messages=messages, **settings)  # pyright: ignore


@contextmanager
def serving(folder: Path, **changes: Any) -> Iterator[Served]:
    served = Served(folder, **changes)
    try:
        yield served
    finally:
        served.client.close()
        served.process.kill()
        served.process.communicate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


def test_the_client_gets_the_answer_of_the_vote_and_a_usage_of_every_sample(server):
    found = server.ask(CHOICE)
    assert found.choices[0].message.content == "Answer: B"
    words = len(CHOICE.split())
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (words, 3 + 2 + 2 + 2)
    assert found.usage.total_tokens == words + 9
    assert found.ttc["votes"] == {"B": 2, "C": 1}
    assert (found.ttc["samples"], found.ttc["reply"], found.ttc["options"]) == (4, "so Answer: B", ["one", "two", "three"])


def test_a_verifier_of_the_config_is_asked_and_its_tokens_are_told(server):
    found = server.ask(CHOICE, model="best_of_n(verifier=told)")
    assert found.choices[0].message.content == "Answer: C"
    assert found.ttc["verifier_tokens"] == 3 * 7


def test_open_answers_vote_in_classes(server):
    found = server.ask("How much is it?")
    assert found.choices[0].message.content == "Answer: 1/2"
    assert found.ttc["votes"] == {"1/2": 3, "3": 1}


def test_what_the_client_sets_is_heeded_and_a_strategy_that_abstains_refuses(server):
    cut = server.ask(CHOICE, max_completion_tokens=1)
    assert cut.usage.completion_tokens == 4
    assert cut.choices[0].message.content == ""
    assert cut.choices[0].message.refusal == "no answer: abstain"


def test_the_models_are_the_strategies(server):
    assert [model.id for model in server.client.models.list()] == ["vote", "best_of_n(verifier=told)"]


def picture(data: bytes) -> list[dict[str, Any]]:
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    return [{"type": "text", "text": CHOICE}, {"type": "image_url", "image_url": {"url": url}}]


def test_images_come_as_data_urls(server):
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(buffer, "PNG")
    assert server.ask(picture(buffer.getvalue())).ttc["answer"] == "B"


@pytest.mark.parametrize(
    ("content", "settings", "error", "words"),
    [
        (CHOICE, {"model": "gpt"}, openai.NotFoundError, "model 'gpt' is not served; there are vote"),
        (CHOICE, {"n": 2}, openai.BadRequestError, "ask with n=1"),
        (CHOICE, {"stream": True}, openai.BadRequestError, "ask without stream"),
        (CHOICE, {"temperature": -1}, openai.BadRequestError, "temperature: Input should be greater"),
        (picture(b"no image"), {}, openai.BadRequestError, "cannot be decoded"),
        ([{"type": "image_url", "image_url": {"url": "http://x/y.png"}}], {}, openai.BadRequestError, "nothing is fetched"),
        ([{"type": "input_audio"}], {}, openai.BadRequestError, "messages.0.content"),
    ],
)
def test_errors_are_those_that_openais_client_knows(server, content, settings, error, words):
    with pytest.raises(error, match=re.escape(words)):
        server.ask(content, **settings)


def test_what_is_no_request_and_a_place_that_is_none_are_errors_too(server):
    bad = httpx.post(f"{server.url}/chat/completions", content=b"{")
    assert (bad.status_code, bad.json()["error"]["type"]) == (400, "invalid_request_error")
    assert httpx.get(f"{server.url}/files").status_code == 404
    last = {"model": "vote", "messages": [{"role": "assistant", "content": "x"}]}
    assert "the user's" in httpx.post(f"{server.url}/chat/completions", json=last).json()["error"]["message"]


def test_many_ask_at_once_and_each_gets_its_own(server):
    asked = [f"{CHOICE} {number % 5}" if number % 2 else f"How much, {number % 5}?" for number in range(20)]
    with ThreadPoolExecutor(10) as threads:
        found = list(threads.map(server.ask, asked))
    assert [one.ttc["answer"] for one in found] == ["B" if number % 2 else "1/2" for number in range(20)]
    assert {one.ttc["samples"] for one in found} == {4}


class Upstream(BaseHTTPRequestHandler):
    """A model's server that calls `meanwhile` before it answers."""

    meanwhile: ClassVar[Callable[[], None]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).meanwhile()
        message = {"role": "assistant", "content": "Answer: A"}
        said = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        said["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
        said["usage"] = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_told_to_stop_it_finishes_what_is_in_flight_and_keeps_it(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as upstream, ThreadPoolExecutor(1) as threads:
        threads.submit(upstream.serve_forever, 0.01)
        url = f"http://127.0.0.1:{upstream.server_address[1]}/v1"
        with serving(tmp_path, backend={"kind": "openai", "model": "m", "base_url": url}) as served:
            Upstream.meanwhile = lambda: served.process.send_signal(signal.SIGTERM)
            found = served.ask(CHOICE)
            assert (found.ttc["answer"], found.usage.completion_tokens) == ("A", 4 * 2)
            assert served.process.wait(30) == -signal.SIGTERM
        upstream.shutdown()
    assert sum(map(len, Bank(tmp_path / "bank").samples(_keys(tmp_path / "bank")).values())) == 4


def _keys(bank: Path) -> set[str]:
    return set(dataset.dataset(bank / "samples").to_table(columns=["key"]).column("key").to_pylist())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unavailable_after": 2}, "breaks down after 2 samples"),
        ({"replies": {"another": ["Answer: A"]}}, "no reply for question"),
    ],
)
def test_an_engine_that_cannot_go_on_is_a_503_and_the_end(tmp_path, change, words):
    backend = {**CONFIG["backend"], **change}
    server = Server(validate({**CONFIG, "backend": backend, "bank": str(tmp_path)}, "test"))
    with listening("127.0.0.1", 0) as place, ThreadPoolExecutor(1) as threads:
        ended = threads.submit(server.run, [place])
        while not server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{place.getsockname()[1]}/v1/chat/completions"
        body = {"model": "vote", "messages": [{"role": "user", "content": CHOICE}]}
        found = httpx.post(url, json=body)
        ended.result()
    assert (found.status_code, found.json()["error"]["type"]) == (503, "server_error")
    assert words in str(server.failure)


def test_a_port_that_is_taken_is_one_line_before_anything_is_opened(ttc, tmp_path):
    config = tmp_path / "serve.yaml"
    config.write_text(yaml.safe_dump({**CONFIG, "bank": str(tmp_path / "bank")}))
    with listening("127.0.0.1", 0) as taken:
        ended = ttc("serve", config, "--port", port := taken.getsockname()[1])
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"error: --host 127.0.0.1 --port {port}: Address already in use; name another" in ended.err
    assert not (tmp_path / "bank").exists()


def test_a_bank_that_cannot_be_made_is_one_line_and_no_traceback(tmp_path, capfd):
    (tmp_path / "file").touch()
    server = Server(validate({**CONFIG, "bank": str(tmp_path / "file" / "bank")}, "test"))
    with pytest.raises(UserError, match="cannot be made"):
        server.run()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("strategy", [{"kind": "vote", "n": 2}, {"kind": "beam_search", "verifier": "told"}])
def test_what_the_model_can_never_take_is_refused_whole_replies_or_steps(tmp_path, strategy):
    body = {"messages": [{"role": "user", "content": CHOICE}]}
    asked = Asked.read(json.dumps({**body, "model": "any"}).encode()).put(None).question.id
    backend = {**CONFIG["backend"], "statuses": {asked: "rejected"}}
    config = validate({**CONFIG, "backend": backend, "strategies": [strategy], "bank": str(tmp_path)}, "test")

    async def ask() -> None:
        async with Service(config) as service:
            await service.complete(json.dumps({**body, "model": next(iter(service.strategies))}).encode())

    with pytest.raises(Refused, match="cannot take these messages: the script says rejected"):
        asyncio.run(ask())


def test_another_seed_gets_other_samples_and_what_is_answered_is_let_go(tmp_path):
    backend = {"kind": "scripted", "replies": [f"Answer: {letter}" for letter in "ABC"], "pick": "seeded"}
    config = validate({**CONFIG, "backend": backend, "strategies": [{"kind": "vote", "n": 40}], "bank": str(tmp_path)}, "test")

    async def ask() -> list[dict[str, int]]:
        async with Service(config) as service:
            body = {"model": "vote", "messages": [{"role": "user", "content": CHOICE}]}
            found = [await service.complete(json.dumps({**body, "seed": seed}).encode()) for seed in (1, 1, 2)]
            assert service._dispatcher.executed.samples == 80
            service.keep_seconds = 0.0
            await service.complete(json.dumps({**body, "seed": 1}).encode())
            assert not service._dispatcher._lines
            return [one["ttc"]["votes"] for one in found]

    first, again, other = asyncio.run(ask())
    assert first == again != other


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ({"kind": "oracle", "n": 3}, "needs the gold"),
        ({"kind": "shuffled_vote", "n": 3}, "the prompt is the client's"),
        ({"kind": "allocated_vote", "n": 3, "plan": "plan.json"}, "the questions of its plan"),
        ({"kind": "rejection", "n": 3, "verifier": "told", "threshold": "accuracy"}, "give a number"),
    ],
)
def test_a_strategy_that_cannot_work_on_a_clients_words_is_left_out_and_refused_alone(tmp_path, strategy, words):
    with pytest.raises(UserError, match=words):
        Service(validate({**CONFIG, "strategies": [strategy], "bank": str(tmp_path)}, "test"))
    service = Service(validate({**CONFIG, "strategies": [{"kind": "vote", "n": 3}, strategy], "bank": str(tmp_path)}, "test"))
    assert list(service.strategies) == ["vote"]
    assert [words in note for note in service.notes] == [True]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (CHOICE, ("one", "two", "three")),
        ("A: x\nB: y\nShow each step.", ("x", "y")),
        ("A. x\n\nB. y\n\nOr rather:\nA) p\nB) q\nC) r", ("p", "q", "r")),
        ("A man walks.\nHow far?", ()),
        ("A. only one", ()),
        ("B. x\nC. y", ()),
    ],
)
def test_options_are_read_where_a_prompt_lists_them(text, options):
    assert listed_options(text) == options
