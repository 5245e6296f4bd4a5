"""Several processes that train together, on a CPU as well."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from accelerate import PartialState
from accelerate.utils import DistributedType
from safetensors.torch import load_file

from training.processes import processes


def test_processes_on_a_cpu_know_of_each_other(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    launched = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
    for name, value in {**launched, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, value)
    PartialState._reset_state()
    try:
        assert processes().distributed_type is DistributedType.MULTI_CPU
    finally:
        torch.distributed.destroy_process_group()
        PartialState._reset_state()


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path: Path):
    bank = {"bank": str(tmp_path / "bank"), "leave_out": ["Motion"]}
    config = {
        "base": {"model": "pocket"},
        "data": {"kind": "pocket", "train_questions": 24, "dev_questions": 10, "samples": 2, **bank},
        "rendering": {"form": "likelihood", "style": "cot", "heading": "", "at_most": 24},
        "lora": None,
        "optimisation": {"batch": 8, "micro_batch": 2, "evaluations": 1},
        "class_weights": "none",
        "threads": 1,
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    for name, launcher in (("one", ()), ("two", torchrun)):
        command = [sys.executable, *launcher, "-m", "training", str(tmp_path / "config.yaml"), "--out", str(tmp_path / name)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(one[name], two[name], atol=1e-5, rtol=0)
