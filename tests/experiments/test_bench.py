"""What the bench prints is what happened; no test here asserts seconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.bench.chips import peaks
from experiments.bench.curve import cost_of_a_curve
from experiments.bench.pairs import Line, alternate, table
from experiments.bench.processes import ended
from experiments.bench.storage import storage

ROOT = Path(__file__).parents[2]
BLOCKED = ["av", "datasets", "duckdb", "math_verify", "matplotlib", "openai", "pandas", "pyarrow", "rich", "scipy", "typer"]
GPU_RUN = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import torch
from experiments.bench.gpu import Bench, Size, run
size = Size(matmul=64, questions=2, n=2, per_call=2, batch_tokens=4096, pairs=1, layers=1, width=256, vocabulary=256,
            sequences=1, tokens=16, samples=2, new_tokens=2, seconds=0.001)
run(Bench(torch.device("cpu"), size), Path(sys.argv[3]), 60)
"""


def test_pairs_turn_their_order_and_give_the_median_of_the_ratios_within_a_pair():
    calls: list[str] = []
    values = {"ours": iter([10.0, 40.0, 90.0]), "theirs": iter([10.0, 20.0, 30.0])}

    def measure(name: str) -> float:
        calls.append(name)
        return next(values[name])

    line = alternate("a", lambda: measure("ours"), "s", "b", lambda: measure("theirs"), pairs=3)
    assert calls == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert (line.value, line.reference, line.ratio) == (40, 20, 2)


def test_the_table_has_a_row_per_line_with_its_ratio():
    lines = [Line("alone", 1234.0, "tokens"), Line("compared", 3.0, "s", "other", 4.0, 0.75, note="5 of 5")]
    _, alone, compared = table(lines).splitlines()
    assert alone.split() == ["alone", "1.23k", "tokens"]
    assert compared.split() == ["compared", "3", "s", "other", "4", "s", "0.75", "5", "of", "5"]


def test_a_curve_costs_the_tokens_of_its_largest_n_and_reruns_almost_twice_as_many(tmp_path):
    once, again = cost_of_a_curve(tmp_path, questions=12, largest=4)
    assert once.ratio == 1
    assert again.ratio == pytest.approx((1 + 2 + 4) / 4, rel=0.15)


def test_the_bank_takes_less_room_than_json_lines(tmp_path):
    on_disk = next(line for line in storage(tmp_path, keys=20, n=16, tokens=100, pairs=1) if line.what.endswith("on disk"))
    assert on_disk.ratio is not None
    assert on_disk.ratio < 0.8


def test_the_peak_of_a_command_is_its_own_and_not_that_of_the_process_that_started_it():
    ballast = bytearray(300 << 20)
    assert ended("-c", "pass").peak_bytes < 100 << 20 < ended("-c", "bytearray(150 << 20)").peak_bytes
    assert len(ballast) == 300 << 20


def test_a_command_that_fails_is_not_a_measurement():
    with pytest.raises(subprocess.CalledProcessError):
        ended("-c", "raise SystemExit(3)")


@pytest.mark.parametrize(
    ("name", "bfloat16"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A10G", None),
        ("NVIDIA L40S", 362e12),
    ],
)
def test_a_chip_is_known_by_whole_words_of_its_name(name, bfloat16):
    assert peaks(name).get("bfloat16") == bfloat16


def test_generate_is_counted_by_its_own_tokens_and_not_by_its_padding():
    from experiments.bench.asking import answered, pocket_requests
    from experiments.bench.throughput import Plain
    from ttc.backends import Transformers
    from ttc.records import Sampling

    backend = Transformers(model="pocket", dtype="float64")
    requests = pocket_requests(backend, 4, 1, Sampling(max_tokens=96, temperature=0))
    lengths = [sample.completion_tokens for sample in answered(backend.open(), requests)]
    assert len(set(lengths)) > 1
    assert Plain(backend).generate(requests) == sum(lengths)


def test_the_gpu_script_needs_none_of_the_packages_that_such_a_machine_may_lack(tmp_path):
    arguments = [json.dumps(BLOCKED), str(ROOT), str(tmp_path / "gpu.json")]
    subprocess.run([sys.executable, "-c", GPU_RUN, *arguments], check=True, cwd=tmp_path)
    content = json.loads((tmp_path / "gpu.json").read_text())
    assert content["missing"] == {}
    notes = [line["note"] for line in content["lines"] if "float32" in line["what"] and "one prefill" in line["what"]]
    assert notes == 4 * ["2 of 2 samples the same"]
