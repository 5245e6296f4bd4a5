"""Run against run: which test, and one number for a whole curve."""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.compare import Comparison, compare
from ttc.pool import Outcome


def write_run(folder: Path, curves: dict[int, list[float]], clusters: list[str] | None = None) -> Path:
    """One strategy with the given credits by k; a completion is ten tokens, a prompt none."""
    rows = [
        {"strategy": "vote", "question_id": f"q{i}", "k": k, **asdict(Outcome(credit, 1.0, k, 0.0, 10.0 * k, None))}
        for k, credits in curves.items()
        for i, credit in enumerate(credits)
    ]
    count = len(next(iter(curves.values())))
    asked = [
        {"id": f"q{i}", "benchmark": "b", "question_type": "open", "cluster": cluster, "fields": {}}
        for i, cluster in enumerate(clusters or [""] * count)
    ]
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "outcomes.parquet")
    (folder / "questions.json").write_text(json.dumps(asked))
    (folder / "run.json").write_text(json.dumps({"benchmark": {"fingerprint": "same"}}))
    return folder


def compared(tmp_path: Path, first: dict[int, list[float]], other: dict[int, list[float]], **more: list[str]) -> Comparison:
    [found] = compare([write_run(tmp_path / "a", first, **more), write_run(tmp_path / "b", other, **more)])
    return found


ONE = {1: [1.0] * 10 + [0.0] * 7 + [1.0]}
TWO = {1: [1.0] * 10 + [1.0] * 7 + [0.0]}


def test_single_runs_get_the_exact_test(tmp_path):
    found = compared(tmp_path, ONE, TWO)
    assert (found.test, found.adjusted_p) == ("McNemar", pytest.approx(2 * (1 + 8) / 2**8))
    assert found.areas is None


def test_clusters_and_expectations_get_sign_flips(tmp_path):
    found = compared(tmp_path / "clusters", ONE, TWO, clusters=[f"v{i // 2}" for i in range(18)])
    assert (found.test, found.adjusted_p) == ("sign flips", found.difference.p_value)
    assert compared(tmp_path / "expected", ONE, {1: [0.5] * 18}).test == "sign flips"


def test_areas_are_mean_heights_over_log_tokens_on_the_common_range(tmp_path):
    found = compared(tmp_path, {1: [0.2] * 4, 2: [0.4] * 4, 4: [0.4] * 4}, {2: [0.5] * 4, 4: [0.7] * 4})
    assert found.k == 4
    assert found.areas == pytest.approx((0.4, 0.6))
    by_samples, by_flops = (compare([tmp_path / "a", tmp_path / "b"], axis=axis) for axis in ("samples", "flops"))
    assert by_samples[0].areas == pytest.approx((0.4, 0.6))
    assert by_flops[0].areas is None
