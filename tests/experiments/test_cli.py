"""A user's mistake ends in one line that says what, where, the value and the way out; exit code 2; nothing lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from experiments.cli import main
from ttc.bank import Bank


def ttc(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the command line in this process; the exit code."""
    monkeypatch.setattr(sys, "argv", ["ttc", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def config(tmp_path: Path):
    """Writes a config with changes to a small scripted run, and returns its path."""

    def write(**changes: object) -> Path:
        content = {
            "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
            "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "Answer: 7"], "pick": "seeded"},
            "strategies": [{"kind": "cot"}, {"kind": "vote", "n": 8}, {"kind": "oracle", "n": 8}],
            "limit": 12,
            "bank": str(tmp_path / "bank"),
        }
        path = tmp_path / "run.yaml"
        kept = {key: value for key, value in {**content, **changes}.items() if value is not None}
        path.write_text(yaml.safe_dump(kept), encoding="utf-8")
        return path

    return write


SURE_INSIDE = {
    "verifiers": {"both": {"kind": "ensemble", "members": {"sure": {"kind": "confidence"}, "told": {"kind": "scripted"}}}},
    "strategies": [{"kind": "best_of_n", "n": 8, "verifier": "both"}],
}


API = {"backend": {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}}
STEPWISE = {"verifiers": {"told": {"kind": "scripted"}}, "strategies": [{"kind": "beam_search", "verifier": "told"}]}


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({"strategees": []}, [], ["strategees", "did you mean 'strategies'"]),
        ({"sampling": {"temprature": 1.0}}, [], ["sampling.temprature", "did you mean 'temperature'"]),
        ({"verifiers": {"v": {"kind": "scripted", "least": 1}}}, [], ["'verifiers.v.scripted.least'; see `ttc list`"]),
        (SURE_INSIDE, [], ["verifier both.members.sure reads log-probabilities", "set sampling.logprobs: true"]),
        ({"strategies": None, "strategy": []}, [], [".yaml: unknown key 'strategy'; did you mean 'strategies'?\n"]),
        ({"strategies": ["cot"]}, [], ["strategies.0: expected a mapping such as {kind: cot}, got 'cot'\n"]),
        ({"strategies": [{"kind": "votes", "n": 3}]}, [], ["strategies.0: unknown kind 'votes'; did you mean 'vote'?\n"]),
        ({"strategies": [{"kind": "vote", "n": 0}]}, [], ["strategies.0.vote.n: input should be greater than 0, got 0\n"]),
        ({"strategies": [{"kind": "vote", "n": 1_000_000_000_000}]}, [], ["vote", "n=1000000000000", "100,000 is the most"]),
        ({"ks": []}, [], ["ks: give at least one"]),
        ({"ks": [1, 16]}, [], ["k=16", "1..8", "lower k or raise n"]),
        ({"backend": {"kind": "transformers", "model": "no/such/folder"}}, [], ["no/such/folder"]),
        ({"benchmark": {"kind": "mmmu", "path": "/no/such/place"}}, [], ["/no/such/place"]),
        ({**API, **STEPWISE}, [], ["beam_search", "backend openai cannot", "use vllm or transformers"]),
        ({**API, **STEPWISE}, ["--dry-run"], ["beam_search", "backend openai cannot", "use vllm or transformers"]),
        ({**API, "strategies": [{"kind": "budget_forcing"}]}, ["--dry-run"], ["budget_forcing", "backend openai cannot"]),
        ({"benchmark": {"kind": "pocket", "split": "test"}}, [], ["prompt_chosen_by"]),
        ({"grid": {"sampling.temperature": [0.5, -1]}}, [], ["temperature=-1", "sampling.temperature", "-1"]),
        ({}, ["sampling.temperature=0"], ["strategy vote: at sampling.temperature=0 its n=8", "8 copies", "use n=1"]),
        ({}, ["sampling.temperature=.inf"], ["sampling.temperature", "finite"]),
        ({}, ['sampling.stop=[""]'], ["sampling.stop.0", "at least 1 character"]),
        ({}, ["sampling.temperature"], ["key=value"]),
        ({}, ["strategies.9.n=3"], ["strategies.9.n"]),
        ({}, ["--limit", "0"], ["limit", "0"]),
    ],
)
def test_a_wrong_config_is_refused_in_one_line_before_anything_is_drawn(
    monkeypatch, capsys, tmp_path, config, changes, arguments, words
):
    code = ttc(monkeypatch, "run", config(**changes), *arguments, "--out", tmp_path / "out")
    output = capsys.readouterr()
    assert code == 2
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert all(word in output.err for word in words), output.err
    assert not (tmp_path / "bank").exists()


@pytest.mark.parametrize(("text", "words"), [("a: [", "not valid YAML"), ("a: 1\na: 2", "stands twice"), ("- 1", "mapping")])
def test_a_file_that_is_no_config_is_refused_in_one_line(monkeypatch, capsys, tmp_path, text, words):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    assert ttc(monkeypatch, "run", path) == 2
    assert words in capsys.readouterr().err


def test_a_run_writes_curves_and_page_and_the_second_one_draws_nothing(monkeypatch, capsys, tmp_path, config):
    out = tmp_path / "out"
    assert ttc(monkeypatch, "run", config(), "--out", out) == 0
    assert "drew 108 samples" in capsys.readouterr().out
    assert {"config.yaml", "run.json", "outcomes.parquet", "samples.parquet", "curves.json", "report.html"} <= {
        path.name for path in out.iterdir()
    }
    assert ttc(monkeypatch, "run", config(), "--out", out) == 0
    assert "drew 0 samples" in capsys.readouterr().out
    assert ttc(monkeypatch, "curves", out, "--by", "subject", "--json", tmp_path / "c.json") == 0
    assert json.loads((tmp_path / "c.json").read_text())
    assert ttc(monkeypatch, "report", out, "-o", tmp_path / "page.html") == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert ttc(monkeypatch, "curves", out, "--by", "colour") == 2
    assert "topic_difficulty" in capsys.readouterr().err


def test_a_folder_keeps_its_run_unless_told_otherwise(monkeypatch, capsys, tmp_path, config):
    out = tmp_path / "out"
    assert ttc(monkeypatch, "run", config(), "--out", out) == 0
    before = (out / "curves.json").read_text()
    assert ttc(monkeypatch, "run", config(), "seed=1", "--out", out) == 2
    assert "--replace" in capsys.readouterr().err
    assert (out / "curves.json").read_text() == before
    assert ttc(monkeypatch, "run", config(), "seed=1", "--out", out, "--replace") == 0


def test_a_truncated_part_is_named_with_the_way_out_and_the_rest_is_kept(monkeypatch, capsys, tmp_path, config):
    out = tmp_path / "out"
    assert ttc(monkeypatch, "run", config(), "--out", out) == 0
    assert ttc(monkeypatch, "run", config(), "strategies.1.n=16", "--out", tmp_path / "more") == 0
    capsys.readouterr()
    _, second = sorted((tmp_path / "bank" / "samples").glob("*.parquet"))
    second.write_bytes(second.read_bytes()[:-100])
    assert ttc(monkeypatch, "run", config(), "--out", out) == 2
    error = capsys.readouterr().err
    assert second.name in error
    assert "--drop-damaged" in error
    assert ttc(monkeypatch, "bank", "compact", "--drop-damaged", "--bank", tmp_path / "bank") == 0
    assert Bank(tmp_path / "bank").stats().samples == 108
    assert ttc(monkeypatch, "run", config(), "--out", out) == 0
    assert "drew 0 samples" in capsys.readouterr().out


def test_a_grid_runs_every_point_and_points_share_their_samples(monkeypatch, capsys, tmp_path, config):
    grid = {"strategies.1.n": [4, 8], "sampling.temperature": [0.5, 1.0]}
    assert ttc(monkeypatch, "run", config(grid=grid), "--out", tmp_path / "sweep") == 0
    points = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert set(points) == {f"temperature={t},n={n}" for n in (4, 8) for t in (0.5, 1.0)}
    # greedy once, eight at each of two temperatures: the points with n = 4 and n = 8 share theirs
    assert Bank(tmp_path / "bank").stats().samples == 12 * (1 + 2 * 8)


def test_help_imports_no_torch():
    code = "import sys, experiments.cli; sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'pyarrow', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_show_places_images_and_lists_what_came(monkeypatch, capsys, tmp_path, config):
    out = tmp_path / "out"
    shuffled = {"kind": "shuffled_vote", "n": 2}
    assert ttc(monkeypatch, "run", config(strategies=[{"kind": "vote", "n": 2}, shuffled]), "--out", out) == 0
    asked = json.loads((out / "questions.json").read_text())
    question = next(one["id"] for one in asked if one["question_type"] == "multiple-choice")
    capsys.readouterr()
    assert ttc(monkeypatch, "show", out, question) == 0
    shown = capsys.readouterr().out
    assert "[image" in shown
    assert shown.count("#0  answer") == 2
    assert shown.count("options seen as") == 2
    assert ttc(monkeypatch, "show", out, "nothing") == 2
    assert "there are" in capsys.readouterr().err
    assert ttc(monkeypatch, "show", "pocket", "nothing") == 2


def test_a_place_that_cannot_be_written_is_one_line(monkeypatch, capsys, tmp_path, config):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert ttc(monkeypatch, "run", config(), "--out", tmp_path / "file" / "run") == 2
    first = capsys.readouterr().err
    assert ttc(monkeypatch, "run", config(), "--out", tmp_path / "run") == 0
    capsys.readouterr()
    assert ttc(monkeypatch, "curves", tmp_path / "run", "--json", tmp_path / "no" / "curves.json") == 2
    for message in (first, capsys.readouterr().err):
        assert message.count("\n") == 1
        assert str(tmp_path) in message


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]])
def test_a_field_that_no_question_has_is_refused_before_anything_is_drawn(monkeypatch, capsys, tmp_path, config, arguments):
    assert ttc(monkeypatch, "run", config(by=["levl"]), "--out", tmp_path / "run", *arguments) == 2
    assert "'levl'; fields there are" in capsys.readouterr().err
    assert not (tmp_path / "bank" / "samples").exists()


def test_curves_are_by_the_field_of_the_run_where_none_is_named(monkeypatch, capsys, tmp_path, config):
    (tmp_path / "own.jsonl").write_text('{"id": "q", "question": "?", "gold": "7", "level": "Easy"}\n', encoding="utf-8")
    own = config(benchmark={"kind": "jsonl", "path": str(tmp_path / "own.jsonl")}, by=["level"])
    assert ttc(monkeypatch, "run", own, "--out", tmp_path / "run") == 0
    capsys.readouterr()
    assert ttc(monkeypatch, "curves", tmp_path / "run") == 0
    assert "by level" in capsys.readouterr().out


def test_cost_counts_what_is_left_also_where_the_bank_holds_the_whole_probe(monkeypatch, capsys, config):
    path = config()
    asked = ["cost", path, "--questions", "4", "--samples", "2"]
    assert ttc(monkeypatch, *asked) == 0
    assert "hours of drawing for the 96 samples that the bank lacks" in capsys.readouterr().out
    assert ttc(monkeypatch, *asked) == 0
    assert "untimed: the 96 samples that the bank lacks" in capsys.readouterr().out
    assert ttc(monkeypatch, *asked, "limit=4", "strategies.1.n=2", "strategies.2.n=2") == 0
    assert "nothing left to draw" in capsys.readouterr().out


def test_a_run_says_what_is_wrong_with_its_data(monkeypatch, capsys, tmp_path, config):
    row = {"id": "q", "question": "?", "gold": "7", "images": ["absent.png"]}
    (tmp_path / "own.jsonl").write_text(json.dumps(row), encoding="utf-8")
    own = config(benchmark={"kind": "jsonl", "path": str(tmp_path / "own.jsonl")})
    assert ttc(monkeypatch, "run", own, "--dry-run") == 0
    assert "  data: q: <image 1>: 'absent.png'" in capsys.readouterr().out
    assert ttc(monkeypatch, "run", own, "--out", tmp_path / "run") == 0
    assert "data: 1 problems, listed in the report; the first: q: <image 1>: 'absent.png'" in capsys.readouterr().out


def test_replies_that_are_there_may_be_many_at_temperature_0_and_a_greedy_draw_shares_them(
    monkeypatch, capsys, tmp_path, config
):
    row = {"id": "q", "question_type": "open", "question": "?", "gold": "4", "response": ["4", "5"]}
    out = tmp_path / "out.jsonl"
    out.write_text(json.dumps(row), encoding="utf-8")
    path = config(
        benchmark={"kind": "outputs", "path": str(out)},
        backend={"kind": "replay", "outputs": str(out)},
        strategies=[{"kind": "vote", "n": 2}, {"kind": "cot"}],
        sampling={"temperature": 0},
    )
    assert ttc(monkeypatch, "run", path, "--dry-run") == 0
    assert "2 samples wanted, 2 to draw" in capsys.readouterr().out
