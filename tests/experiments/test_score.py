"""`ttc score` and `ttc audit`: the published numbers from the released files, and the counts that must stand beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from experiments.commands.score import audit, score
from experiments.score import Scores, as_json, with_levels
from experiments.score import score as scored
from ttc.errors import UserError
from ttc.outputs import read
from ttc.statistics import clopper_pearson

ROW = {
    "id": "q1",
    "question_type": "multiple-choice",
    "options": ["yes", "no", "both", "neither"],
    "gold": "B",
    "response": "B",
}


def run(tmp_path: Path, *rows: Any, **more: Any) -> Scores:
    file = tmp_path / "out.jsonl"
    file.write_text("".join(json.dumps({**ROW, "id": f"q{number}", **row}) + "\n" for number, row in enumerate(rows)))
    return scored(read(file, "jsonl"), "jsonl", **more)


@pytest.fixture(scope="module")
def gpt_4o(shared: Path) -> Scores:
    file = shared / "data/mmmu_pro/gpt-4o_standard(10 options)_cot.jsonl"
    return scored(read(file, "mmmu_pro"), "mmmu_pro", by=["topic_difficulty", "discipline", "img_type"])


def test_official_rules_give_gpt_4os_published_score_by_level_and_discipline(gpt_4o: Scores):
    assert (gpt_4o.overall["official"].correct, gpt_4o.overall["official"].n) == (952, 1730)
    by = {name: {value: (t.correct, t.n) for value, t in groups.items()} for name, groups in gpt_4o.by["official"].items()}
    assert list(by["topic_difficulty"].items()) == [("Easy", (355, 528)), ("Medium", (433, 801)), ("Hard", (164, 401))]
    assert by["discipline"]["Tech and Engineering"] == (165, 417)
    assert by["discipline"]["Art and Design"] == (148, 228)


def test_official_predictions_equal_the_stored_ones_on_every_row_that_was_not_random(shared: Path, gpt_4o: Scores):
    file = shared / "data/mmmu_pro/gpt-4o_standard(10 options)_direct.jsonl"
    direct = scored(read(file, "mmmu_pro"), "mmmu_pro", rules=["official"])
    assert direct.overall["official"].correct == 696
    assert direct.notes == ("official: 7 rows were not understood and got a random letter (seed 42), 2 of them credited",)
    for row in (*gpt_4o.rows, *direct.rows):
        official = row.readings["official"]
        if not official.rule.endswith("/random"):
            assert row.reply.stored
            assert official.prediction == row.reply.stored.prediction


def test_careful_rules_do_not_lose_right_answers_of_the_chain_of_thought_file(gpt_4o: Scores):
    assert gpt_4o.overall["careful"].correct >= gpt_4o.overall["official"].correct


def test_a_row_with_several_image_types_counts_under_each_and_it_says_so(gpt_4o: Scores):
    assert sum(tally.n for tally in gpt_4o.by["careful"]["img_type"].values()) > 1730
    assert any(note.startswith("by img_type:") and "several values" in note for note in gpt_4o.notes)


def test_official_rules_give_llavas_published_score_by_discipline(shared: Path):
    found = scored(read(shared / "data/mmmu/llava1.5_13b", "mmmu"), "mmmu", rules=["official"], by=["discipline"])
    assert (found.overall["official"].correct, found.overall["official"].n) == (330, 900)
    assert {value: tally.correct for value, tally in found.by["official"]["discipline"].items()} == {
        "Art and Design": 63,
        "Business": 34,
        "Science": 44,
        "Health and Medicine": 58,
        "Humanities and Social Science": 66,
        "Tech and Engineering": 65,
    }
    assert sum(row.readings["official"].rule == "mmmu/random" for row in found.rows) == 2


def test_llava_gets_levels_for_the_ids_that_mmmu_pro_names(shared: Path):
    llava = read(shared / "data/mmmu/llava1.5_13b", "mmmu")
    levels = read(shared / "data/mmmu_pro/gpt-4o_standard(10 options)_cot.jsonl", "mmmu_pro")
    found = scored(with_levels(llava, levels), "mmmu", rules=["official"], by=["topic_difficulty"])
    by_level = found.by["official"]["topic_difficulty"]
    assert {level: tally.n for level, tally in by_level.items()} == {"Easy": 176, "Medium": 269, "Hard": 132}
    assert "by topic_difficulty: 323 rows have no value and are in no group" in found.notes
    with pytest.raises(UserError, match="none of the 1730 ids"):
        with_levels(levels, llava)


def test_nothing_said_is_wrong_by_the_careful_rules_and_stays_in_the_denominator(tmp_path: Path):
    replies = [
        "B",
        "",
        "I'm sorry, I can't assist with that.",
        None,
        {"error": "rate limited"},
        "Sorry, I cannot see the image.",
    ]
    found = run(tmp_path, *({"response": response} for response in replies))
    careful = found.overall["careful"]
    assert (careful.correct, careful.n, careful.none) == (1, 6, 5)
    assert careful.statuses["failed"] == 2
    assert careful.statuses["refused"] >= 1
    assert "2 rows have no reply; they count as wrong" in found.notes


def test_a_thousand_refusals_are_a_thousand_times_wrong(tmp_path: Path):
    found = run(tmp_path, *({"response": "Sorry, I cannot recognize the image."} for _ in range(1000)))
    assert found.overall["careful"].correct == 0
    assert found.overall["official"].correct > 150


@pytest.mark.parametrize(
    ("gold", "response", "correct"),
    [
        ("251", "The total is 143 msec, see area A", False),
        ("12.97", "A", False),
        ("60", "60", True),
        ("hepatitis", "The answer is hepatitis", True),
        ("blind spot", "", False),
        ("E", "E", True),
    ],
)
def test_open_questions_are_never_scored_by_letter_or_by_an_empty_reply(
    tmp_path: Path, gold: str, response: str, correct: bool
):
    row = {"question_type": "open", "options": [], "gold": gold, "response": response}
    assert run(tmp_path, row, rules=["careful"]).rows[0].readings["careful"].correct is correct


def test_a_verdict_that_an_earlier_evaluation_left_in_the_file_decides_nothing(tmp_path: Path):
    file = tmp_path / "model_MMMU.json"
    row = {"question": "How long?", "A": "251", "B": "Other Answers", "answer": "A"}
    stale = {"index": 1, "prediction": "A", "hit": 1}
    file.write_text(json.dumps([row | stale, row | {"index": 2, "prediction": "251", "hit": 0}]))
    found = scored(read(file, "mmmu"), "mmmu", rules=["careful"])
    assert [one.readings["careful"].correct for one in found.rows] == [False, True]


def test_vision_rows_without_a_question_are_read_by_their_options(tmp_path: Path):
    file = tmp_path / "vision.jsonl"
    file.write_text(json.dumps({"id": "test_Art_1", "options": "['yes', 'no']", "answer": "B", "response": "Answer: B"}))
    assert scored(read(file, "mmmu_pro"), "mmmu_pro").overall["careful"].correct == 1


def test_provider_errors_stay_in_the_denominator(tmp_path: Path):
    replies = ["B", "B", "A", "C", "D", "A", {"error": "overloaded"}, {"error": "overloaded"}]
    assert run(tmp_path, *({"response": response} for response in replies)).overall["careful"].accuracy == 2 / 8


def test_an_open_question_has_all_its_values_in_the_row(tmp_path: Path):
    found = run(
        tmp_path, {"question_type": "open", "options": [], "gold": ["24/7", "3.429"], "response": "The answer is 3.429."}
    )
    reading = found.rows[0].readings["careful"]
    assert (reading.prediction, reading.correct) == (("3.429",), True)


def test_single_answers_have_the_exact_interval(tmp_path: Path):
    found = run(tmp_path, *({"response": letter} for letter in "BBBA"))
    assert found.overall["careful"].interval == clopper_pearson(3, 4)


def test_repeated_samples_are_replies_each_and_widen_the_interval_by_question(tmp_path: Path):
    found = run(tmp_path, {"response": ["B"] * 50}, {"response": ["A"] * 50})
    careful = found.overall["careful"]
    assert (careful.correct, careful.n, careful.interval) == (50, 100, (0.0, 1.0))
    assert "100 replies to 2 questions; n counts replies, intervals resample questions" in found.notes


def test_dev_rows_stay_out_of_a_validation_score_unless_asked_for(tmp_path: Path):
    rows = [{"split": "dev", "response": "A"}, {"split": "validation"}]
    assert run(tmp_path, *rows).overall["careful"].accuracy == 1
    assert run(tmp_path, *rows, split="dev").overall["careful"].accuracy == 0
    with pytest.raises(UserError, match="--split test: no row is of this split; there are dev, validation"):
        run(tmp_path, *rows, split="test")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"by": ["colour"]}, "--by colour: no row has this field; there are level, question_type"),
        ({"rules": ["official"], "benchmark": "mmvu"}, "mmvu: its official judge is a language model"),
        ({"benchmark": "gpqa"}, "benchmark 'gpqa': no such benchmark"),
    ],
)
def test_what_cannot_be_scored_is_one_clear_line(tmp_path: Path, more: dict[str, Any], message: str):
    file = tmp_path / "out.jsonl"
    file.write_text(json.dumps({**ROW, "level": "Easy"}))
    with pytest.raises(UserError, match=message):
        scored(read(file, "jsonl"), **({"benchmark": "jsonl"} | more))


def test_a_hidden_split_is_not_scored_as_zero(tmp_path: Path):
    with pytest.raises(UserError, match="none of the 1 rows has a gold answer"):
        run(tmp_path, {"gold": ""})


def test_the_json_has_its_published_shape_with_rows_in_file_order(tmp_path: Path):
    content = as_json(run(tmp_path, {"level": "Hard"}, {"response": "?"}, by=["level"]))
    assert list(content) == ["rules", "rows"]
    assert content["rules"]["careful"]["by"]["level"]["Hard"].keys() == {"correct", "n", "accuracy", "interval", "none"}  # pyright: ignore
    assert content["rules"]["official"]["overall"]["n"] == 2  # pyright: ignore
    assert [row["id"] for row in content["rows"]] == ["q0", "q1"]  # pyright: ignore
    assert content["rows"][1]["careful"]["prediction"] is None  # pyright: ignore
    assert content["rows"][0]["official"].keys() == {"prediction", "correct", "status", "rule"}  # pyright: ignore


@pytest.fixture
def cli() -> Any:
    import typer

    app = typer.Typer()
    app.command("score")(score)
    app.command("audit")(audit)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_the_command_prints_counts_intervals_baselines_and_writes_json(cli: Any, shared: Path, tmp_path: Path):
    file, target = shared / "data/mmmu_pro/gpt-4o_standard(10 options)_cot.jsonl", tmp_path / "scores.json"
    shown = cli("score", "mmmu_pro", "--outputs", file, "--by", "topic_difficulty", "--json", target).output
    assert "952/1730" in shown
    assert "always B 12.20 %" in shown
    assert json.loads(target.read_text())["rules"]["official"]["by"]["topic_difficulty"]["Hard"]["correct"] == 164


def test_every_extraction_case_is_right_through_the_whole_line(shared: Path, tmp_path: Path):
    cases = [json.loads(line) for line in (shared / "cases/extraction.jsonl").read_text().splitlines()]
    keys = ("question_type", "options", "gold", "response")
    found = run(tmp_path, *({key: case[key] for key in keys} for case in cases), rules=["careful"])
    for case, row in zip(cases, found.rows, strict=True):
        reading = row.readings["careful"]
        prediction = list(reading.prediction) if isinstance(reading.prediction, tuple) else reading.prediction
        assert (prediction, reading.correct) == (case["right_prediction"], case["right_correct"]), case["response"]


def test_the_direct_file_shows_how_much_the_official_rules_lose(shared: Path):
    file = shared / "data/mmmu_pro/gpt-4o_standard(10 options)_direct.jsonl"
    found = scored(read(file, "mmmu_pro"), "mmmu_pro")
    differing = [row for row in found.rows if row.differs]
    assert f"{len(differing)} rows are read differently by the two rule sets; `ttc audit` shows them" in found.notes
    assert len(differing) > 100
    assert found.overall["careful"].correct > found.overall["official"].correct + 30


def test_audit_shows_where_the_rules_differ(cli: Any, tmp_path: Path):
    file = tmp_path / "out.jsonl"
    rows = [
        {**ROW, "id": "same"},
        {**ROW, "id": "lost", "response": "The answer is (A). Option (B) is not the correct answer."},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    shown = cli("audit", file).output
    assert "1 of 2 rows differ; of these the official rules credit 1, the careful rules 0" in shown
    assert "lost" in shown
    assert "same" not in shown
