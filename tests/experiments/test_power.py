"""Power: what is promised is what simulated comparisons deliver."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.halves import halved
from experiments.power import Entry, Power, entry, power
from ttc.errors import UserError
from ttc.pool import Pool
from ttc.statistics import detectable_difference, standard_error
from ttc.strategies.oracle import Oracle
from ttc.strategies.vote import Vote

STRATEGIES = {"vote": Vote(n=32), "oracle": Oracle(n=32)}
KS = {name: [1, 4, 16, 32] for name in STRATEGIES}


def write_run(folder: Path, rates: np.ndarray, clusters: list[str] | None = None, seed: int = 0) -> Path:
    """A run of 32 samples of each question: right ones agree, wrong ones differ."""
    rng = np.random.default_rng(seed)
    pools = {}
    for number, rate in enumerate(rates):
        credits = (rng.random(32) < rate).astype(float).tolist()
        classes = tuple(0 if credit else 1 + i for i, credit in enumerate(credits))
        pools[f"q{number}"] = Pool(f"q{number}", classes, tuple(credits), 5, (10,) * 32, None, None)
    found = halved(STRATEGIES, dict.fromkeys(STRATEGIES, pools), KS)
    rows = [
        {"half": which, "strategy": name, "question_id": i, "k": k, **cells(point)}
        for which in (0, 1)
        for name, by_id in found.outcomes[which].items()
        for i, points in by_id.items()
        for k, point in points
    ]
    whole = [
        {"strategy": name, "question_id": i, "k": k, **cells(strategy.expected(pool, k))}
        for name, strategy in STRATEGIES.items()
        for i, pool in pools.items()
        for k in KS[name]
    ]
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "halves.parquet")
    pq.write_table(pa.Table.from_pylist(whole), folder / "outcomes.parquet")
    names = clusters or [""] * len(rates)
    asked = [
        {"id": i, "benchmark": "b", "question_type": "open", "cluster": c, "fields": {}}
        for i, c in zip(pools, names, strict=True)
    ]
    (folder / "questions.json").write_text(json.dumps(asked))
    (folder / "run.json").write_text("{}")
    return folder


def cells(point: object) -> dict[str, float]:
    return {
        name: getattr(point, name) for name in ("credit", "coverage", "samples", "prompt_tokens", "completion_tokens", "flops")
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("power") / "run", np.random.default_rng(9).beta(1.0, 1.0, 300))


def compared(run: Path, first: str, second: str) -> Power:
    return power(entry(run, first), entry(run, second))


def test_a_difference_that_is_called_detectable_is_found_in_four_of_five_repetitions():
    rng, found = np.random.default_rng(2), []
    pilot = rng.standard_normal(150)
    pilot /= pilot.std(ddof=1)
    true = detectable_difference(pilot, [""] * 150)
    for _ in range(1500):
        differences = true + rng.standard_normal(150)
        found.append(abs(differences.mean()) > 1.96 * standard_error(differences, [""] * 150))
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)


def test_a_quarter_of_the_difference_takes_sixteen_times_the_questions(run):
    found = power(entry(run, "vote@4"), entry(run, "vote@1"), differences=[0.04, 0.01])
    assert found.needed[0.04] == pytest.approx(300 * (found.detectable / 0.04) ** 2, abs=1)
    assert found.needed[0.01] == pytest.approx(16 * found.needed[0.04], abs=16)
    assert found.detectable == pytest.approx(2.80 * found.standard_error)


def test_the_split_finds_the_questions_own_spread_where_it_is_known(run):
    found = compared(run, "oracle@4", "vote@1")
    assert found.split
    rates = np.random.default_rng(9).beta(1.0, 1.0, 300)
    assert found.split.questions == pytest.approx(np.var(1 - (1 - rates) ** 4 - rates), rel=0.15)
    assert found.detectable_at_best
    assert found.detectable_at_best < found.detectable


def test_identical_questions_differ_by_sampling_alone(tmp_path):
    found = compared(write_run(tmp_path / "run", np.full(400, 0.4)), "oracle@4", "vote@1")
    assert found.split
    assert found.split.questions < 0.15 * found.split.sampling


def test_beyond_half_of_the_samples_there_is_no_split(run):
    assert compared(run, "vote@32", "vote@1").split is None


def test_an_assumed_correlation_gives_the_error_that_such_a_second_has(run):
    single = power(Entry(run, "vote", 4), None, correlation=0.0)
    assert power(Entry(run, "vote", 4), None, correlation=0.75).standard_error == pytest.approx(single.standard_error / 2)
    assert power(Entry(run, "vote", 4), None, correlation=1.0).detectable == 0.0


def test_where_no_question_differs_nothing_tells_how_many_it_takes(run):
    with pytest.raises(UserError, match="oracle@1 minus vote@1 is the same on all 300 questions"):
        compared(run, "oracle@1", "vote@1")  # both are the mean credit


def test_questions_that_share_a_video_are_one_unit(tmp_path):
    rates = np.repeat(np.random.default_rng(4).random(40), 5)
    alone = compared(write_run(tmp_path / "alone", rates), "oracle@16", "vote@1")
    shared = compared(write_run(tmp_path / "shared", rates, [f"v{i // 5}" for i in range(200)]), "oracle@16", "vote@1")
    assert (alone.clusters, shared.clusters) == (200, 40)
    assert shared.detectable > 1.8 * alone.detectable


def test_the_command_shows_the_size_and_refuses_what_is_not_there(run, tmp_path):
    out = tmp_path / "power.json"
    done = CliRunner().invoke(app, ["power", str(run), "vote@4", "vote@1", "--difference", "2.5", "--json", str(out)])
    assert done.exit_code == 0, done.output
    assert "questions to find 2.5 points" in done.output
    assert json.loads(out.read_text())["questions"] == 300
    with pytest.raises(UserError, match="vote, oracle"):
        entry(run, "beam")
    with pytest.raises(UserError, match="1, 4, 16, 32"):
        entry(run, "vote@3")
