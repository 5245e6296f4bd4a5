"""The report in a real browser: what its scripts draw, what its controls do, and that none of it makes the console complain."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from experiments import report
from experiments.cli import app
from experiments.limit import limited
from ttc.benchmarks.pocket import Pocket

pytestmark = pytest.mark.timeout(400)  # all of them wait for one run and one browser
HOSTILE = "</pre></script><img src=x onerror=document.title='taken'><b id=taken>x</b> & ${1} {{ 7 * 7 }}"
SCORES = {"Surely.": 0.9, "Perhaps.": 0.3, HOSTILE: 0.1, "no idea": 0.1}
BENCHMARK = Pocket(split="validation", subjects=("Dials", "Motion"))
LIMIT = 24


@dataclass(frozen=True, slots=True)
class Opened:
    """What a browser made of a page."""

    said: dict[str, Any]
    """By the probe."""
    console: list[str]


def opened(page: Path, profile: Path) -> Opened:
    """Open a page whose last script leaves JSON in an element named probe."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        if os.environ.get("TTC_REQUIRE_BROWSER"):
            pytest.fail("TTC_REQUIRE_BROWSER is set, but no Chromium is on the PATH")
        pytest.skip("no Chromium on the PATH; Debian and Ubuntu have one in the package chromium")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--window-size=1280,900"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert found, console
    return Opened(json.loads(unescape(found[1])), console)


PROBE = Path(__file__).with_name("page_probe.js")


def scripted_replies() -> dict[str, list[str]]:
    """A right reply, a wrong one, and two without an answer; of every second question the verifier prefers the wrong one."""
    exam = limited(BENCHMARK.load(), LIMIT)
    found = {}
    for number, question in enumerate(exam.questions):
        right = exam.golds[question.id].answers[0]
        wrong = next(letter for letter in question.letters if letter != right) if question.options else "-98765"
        first, second = ("Perhaps.", "Surely.") if number % 2 else ("Surely.", "Perhaps.")
        found[question.id] = [f"{first}\nAnswer: {right}", f"{second}\nAnswer: {wrong}", HOSTILE, "no idea"]
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A run with a verifier, prices and speeds, judged by `ttc verify`, and its page as a reader goes through it."""
    folder = tmp_path_factory.mktemp("page")
    replies = scripted_replies()
    ends = {reply.splitlines()[-1]: 0.95 for by_id in replies.values() for reply in by_id[:2]}
    content = {
        "benchmark": BENCHMARK.model_dump(mode="json"),
        "backend": {"kind": "scripted", "replies": replies},
        "verifiers": {"told": {"kind": "scripted", "scores": SCORES | ends}},
        "strategies": [
            {"kind": "direct"},
            {"kind": "vote", "n": 4},
            {"kind": "best_of_n", "n": 4, "verifier": "told"},
            {"kind": "oracle", "n": 4},
        ],
        "limit": LIMIT,
        "bank": str(folder / "bank"),
        "costs": {"prices": {"input": 1, "output": 4}, "throughput": {"completion": 1000}, "speed": {"completion": 50}},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "SCRIPTS", (*report.SCRIPTS, str(PROBE)))
        for words in (
            ["run", folder / "run.yaml", "--out", folder / "out"],
            ["verify", folder / "out"],
            ["report", folder / "out"],
        ):
            done = CliRunner().invoke(app, [str(word) for word in words])
            assert done.exit_code == 0, done.output
    return opened(folder / "out/report.html", folder / "profile")


def test_the_console_says_nothing(seen):
    assert seen.console == []


def test_every_known_axis_can_be_chosen_and_moves_figures_areas_and_gaps(seen):
    axes = seen.said["axes"]
    costs = ["completion_tokens", "total_tokens", "money", "device_seconds", "path_tokens", "path_seconds"]
    assert list(axes) == ["samples", *costs]
    assert axes["samples"] == [3, 0, "accuracy points, equal k"]
    assert axes["money"] == [3, 3, "accuracy points, equal money (USD)"]


def test_curves_are_drawn_in_a_panel_per_group_and_a_strategy_can_be_hidden(seen):
    before, after = seen.said["hidden"]
    assert seen.said["panels"] == 1 + 3 + 2  # all, levels, subjects
    assert before == seen.said["lines"] == 3 * seen.said["panels"]
    assert after == 2 * seen.said["panels"]


def test_arrow_keys_read_points_aloud(seen):
    assert re.match(r"All questions, direct at k = 1, 100\.0 %", seen.said["read"])


def test_risk_is_drawn_against_coverage_for_all_questions_and_each_level(seen):
    assert seen.said["risk"] == {"lines": 4, "rows": [7] * 8}  # every vote has the same share: a point


def test_what_ttc_verify_found_is_in_the_page(seen):
    assert seen.said["verifiers"] == "told"


def test_filters_find_the_wrong_though_solvable_the_fooled_and_the_unanswered(seen):
    half, all_, none = (f"{count} of {LIMIT} questions" for count in (LIMIT // 2, LIMIT, 0))
    states = {"all": all_, "solvable": half, "fooled": half, "unanswered": all_, "silent": none, "never": none, "always": none}
    assert seen.said["states"] == states
    counter, are_hard = seen.said["hard"]
    assert counter == f"{LIMIT // 3} of {LIMIT} questions"
    assert are_hard


def test_a_search_ignores_case(seen):
    wanted, *found = seen.said["found"]
    assert wanted in found
    assert all(wanted in one for one in found)


def test_a_fooled_verifiers_samples_are_ordered_by_its_scores_with_the_score_of_each_step(seen):
    direct, *drawn = seen.said["samples"]
    assert "told" not in direct
    assert [re.search(r"(right|wrong|no answer).* told (0\.\d)", line).groups() for line in drawn] == [
        ("wrong", "0.9"),
        ("right", "0.3"),
        ("no answer", "0.1"),
        ("no answer", "0.1"),
    ]
    assert seen.said["steps"][-3:-1] == [["step", "told", "reply"], ["1", "0.90", "Surely."]]
    assert seen.said["wrong"]  # and only wrong ones where those are chosen


def test_the_list_is_walked_with_arrow_keys_and_every_control_has_a_name(seen):
    assert seen.said["second"]
    assert seen.said["nameless"] == []


def test_images_are_shown_and_described(seen):
    assert seen.said["images"]
    assert all(seen.said["images"])


def test_a_hostile_reply_is_text(seen):
    assert seen.said["hostile"] == {"text": HOSTILE, "taken": False}
