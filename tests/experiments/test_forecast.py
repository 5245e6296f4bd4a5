"""What a run will take, told before it and held against it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments import forecast
from experiments.config import validate
from experiments.plan import Plan, plan
from experiments.run import Results, execute
from ttc.bank import Bank

REPLIES = ["so\nAnswer: A", "first this\nthen that\nAnswer: B", "no\nidea at all", "Answer: C"]
LLAMA = {
    "model_type": "llama",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "vocab_size": 50,
}
SCRIPTED = {"kind": "scripted", "replies": REPLIES, "pick": "seeded", "tokens_per_image": 3, "priced_as": LLAMA}
STRATEGIES = [
    {"kind": "cot"},
    {"kind": "vote", "n": 16},
    {"kind": "adaptive_vote", "n": 16},
    {"kind": "best_of_n", "n": 4, "verifier": "v"},
    {"kind": "beam_search", "width": 2, "expand": 2, "verifier": "v"},
    {"kind": "dvts", "subtrees": 2, "expand": 2, "verifier": "v"},
    {"kind": "particle_filter", "particles": 3, "verifier": "v"},
]
COSTS = {"prices": {"input": 1.0, "output": 1000.0}, "verifiers": {"v": {"price": 100.0}}}


def settings(bank: Path, **changes: Any) -> dict[str, Any]:
    return {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": SCRIPTED,
        "strategies": STRATEGIES,
        "verifiers": {"v": {"kind": "scripted", "tokens_per_reply": 7, "flops_per_token": 10.0}},
        "costs": COSTS,
        "limit": 36,
        "bank": str(bank),
        **changes,
    }


def planned(bank: Path, **changes: Any) -> Plan:
    return plan(validate(settings(bank, **changes), "test"))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, forecast.Forecast], forecast.Outlook]:
    bank = tmp_path_factory.mktemp("told")
    found = forecast.forecast(planned(bank), Bank(bank), questions=24, live_questions=18)
    return {one.what: one for one in (*found.draws, *found.passes, *found.live, *found.alone)}, found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("ran")
    run = planned(folder)
    return execute(run, run.config.backend, Bank(folder))


def spent(ran: Results, strategy: str, cost: str) -> float:
    """Over all questions, at the largest budget."""
    return sum(getattr(points[-1][1], cost) for points in ran.outcomes[strategy].values())


@pytest.mark.parametrize(
    ("what", "strategy"),
    [
        ("draw cot, greedy", "cot"),
        ("draw cot", "vote"),
        ("adaptive_vote@16", "adaptive_vote"),
        ("beam_search(verifier=v,expand=2)@2", "beam_search(verifier=v,expand=2)"),
        ("dvts(verifier=v,expand=2)@2", "dvts(verifier=v,expand=2)"),
        ("particle_filter(verifier=v)@3", "particle_filter(verifier=v)"),
    ],
)
def test_what_is_foretold_is_what_the_run_takes(told, ran: Results, what: str, strategy: str):
    one = told[0][what]
    tokens = spent(ran, strategy, "completion_tokens")
    assert one.completion_tokens.low <= tokens <= one.completion_tokens.high
    assert one.completion_tokens.value == pytest.approx(tokens, rel=0.1)
    assert one.prompt_tokens.value == pytest.approx(spent(ran, strategy, "prompt_tokens"), rel=0.1)
    assert one.flops == pytest.approx(spent(ran, strategy, "flops"), rel=0.15)
    scoring = spent(ran, strategy, "verifier_tokens")
    assert (one.verifier_tokens.value if one.verifier_tokens else 0) == pytest.approx(scoring, rel=0.15)
    assert one.money == pytest.approx(
        (one.prompt_tokens.value + 1000 * one.completion_tokens.value + 100 * scoring) / 1e6, rel=0.1
    )


def test_a_verifiers_pass_over_a_draw_is_foretold_from_scoring_the_probe(told):
    one = told[0]["verifier v on cot"]
    assert (one.samples.value, one.verifier_tokens.value) == (36 * 4, 36 * 4 * 7)
    assert (one.flops, one.money) == (36 * 4 * 7 * 10, pytest.approx(36 * 4 * 7 * 100 / 1e6))


def test_what_adaptive_strategies_stop_at_is_told_apart_from_what_the_run_draws(told):
    assert [one.what for one in told[1].alone] == ["adaptive_vote@16"]
    assert told[0]["adaptive_vote@16"].samples.value < told[0]["draw cot"].samples.value == 36 * 16
    assert told[1].hours is not None


def test_the_probe_is_part_of_the_run(tmp_path: Path):
    few = {"limit": 8, "strategies": [STRATEGIES[1], STRATEGIES[4]]}
    alone, probed = planned(tmp_path / "alone", **few), planned(tmp_path / "probed", **few)
    whole = execute(alone, alone.config.backend, Bank(tmp_path / "alone")).executed.samples
    forecast.forecast(probed, Bank(tmp_path / "probed"), questions=4, live_questions=3)
    held = Bank(tmp_path / "probed").stats().samples
    assert execute(probed, probed.config.backend, Bank(tmp_path / "probed")).executed.samples == whole - held < whole


def test_replies_of_unknown_length_foretell_nothing(tmp_path: Path):
    replies = tmp_path / "out.jsonl"
    rows = [{"id": i, "question_type": "open", "question": f"{i}?", "gold": "4", "response": "4"} for i in "ab"]
    replies.write_text("\n".join(map(json.dumps, rows)))
    foreign = {"benchmark": {"kind": "outputs", "path": str(replies)}, "backend": {"kind": "replay", "outputs": str(replies)}}
    run = planned(tmp_path / "bank", **foreign, strategies=[{"kind": "cot", "greedy": False}], verifiers={})
    (one,) = forecast.forecast(run, Bank(tmp_path / "bank")).draws
    assert (one.samples.value, one.prompt_tokens, one.completion_tokens, one.flops, one.money) == (2, None, None, None, None)


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    def write(**changes: Any) -> Path:
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(settings(tmp_path / "bank", limit=6, **changes)), encoding="utf-8")
        return path

    return write


def test_a_dry_run_gives_the_most_that_it_can_be_and_says_who_knows_more(ttc, config, tmp_path: Path):
    shown = ttc("run", config(), "--dry-run").out
    assert f"draw cot: at most {6 * 16 * 1024:,} completion tokens by sampling.max_tokens, 98.30 USD for these" in shown
    assert "`ttc cost` tells what draw cot, greedy, draw cot, verifier v, beam_search, dvts, particle_filter will take" in shown
    assert not (tmp_path / "bank").exists()


def test_a_dry_run_prices_by_what_the_bank_holds(ttc, config):
    assert ttc("cost", config(), "--questions", 4, "--live-questions", 2).code == 0
    shown = ttc("run", config(), "--dry-run").out
    assert "the whole, by the samples in the bank" in shown
    assert "at most" not in shown
    assert "tells what verifier v, beam_search" in shown


def test_the_cost_of_a_run_is_a_table_of_draws_verifiers_and_strategies(ttc, config):
    ended = ttc("cost", config(strategies=[STRATEGIES[1], STRATEGIES[2], STRATEGIES[4]]), "--live-questions", 2)
    assert ended.code == 0, ended.err
    words = ["draw cot", "beam_search(verifier=v,expand=2)@2", "adaptive_vote@16", "hours of drawing", "money", "FLOPs"]
    assert all(word in ended.out for word in words), ended.out
