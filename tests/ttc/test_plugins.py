"""Parts from a package of somebody else: installed by pip, named in a config, and told apart from broken ones."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from experiments.commands.look import list_parts
from experiments.config import strategy_name, validate
from experiments.folder import read_outcomes
from ttc import plugins
from ttc.errors import UserError
from ttc.strategies import AnyStrategy

PROJECT = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"

    [project]
    name = "tiny-strategies"
    version = "1"

    [project.entry-points."ttc.strategies"]
    first_answer = "tiny_strategies:FirstAnswer"
    absent = "tiny_strategies:Absent"
    misnamed = "tiny_strategies:Misnamed"
    idle = "tiny_strategies:Idle"
    no_model = "tiny_strategies:VALUE"

    [project.entry-points."ttc.benchmarks"]
    gone = "tiny_benchmarks:Gone"
"""
MODULE = '''
    """A package that adds a strategy."""

    from typing import ClassVar, Literal

    from pydantic import BaseModel, Field

    from ttc.draw import Draw
    from ttc.records import Selection
    from ttc.session import Session

    VALUE = 3


    class FirstAnswer(BaseModel, frozen=True, extra="forbid"):
        """Draw until a reply has an answer."""

        kind: Literal["first_answer"] = "first_answer"
        most: int = Field(default=8, gt=0)
        uses_gold: ClassVar[bool] = False

        async def solve(self, session: Session) -> Selection:
            """At most so often."""
            for _ in range(self.most):
                samples = await session.draw(Draw(n=1))
                if session.answers(samples)[0].values:
                    return session.stand_by(samples, 0, "first")
            return Selection(None, reason="abstain")


    class Misnamed(FirstAnswer, frozen=True):
        """Keeps the other one's kind."""


    class Idle(BaseModel, frozen=True):
        """Solves nothing."""

        kind: Literal["idle"] = "idle"
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(textwrap.dedent(PROJECT))
    (source / "tiny_strategies.py").write_text(textwrap.dedent(MODULE))
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)], check=True)
    return target


def config(**changes: object) -> dict[str, object]:
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": ["no idea", "Answer: A"]},
        "strategies": [{"kind": "vote", "n": 2}, {"kind": "first_answer", "most": 3}],
        "limit": 3,
    }
    return {**content, **changes}


def test_a_package_that_is_installed_adds_a_strategy_and_a_config_names_it(installed, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(config(bank=str(tmp_path / "bank"))))
    command = [sys.executable, "-m", "experiments", "run", str(path), "--out", str(tmp_path / "out")]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"})
    _, outcomes = read_outcomes(tmp_path / "out")
    assert [k for points in outcomes["first_answer(most=3)"].values() for k, _ in points] == [2, 2, 2]
    assert {p.completion_tokens for points in outcomes["first_answer(most=3)"].values() for _, p in points} == {4}


def test_a_foreign_part_is_stored_with_the_config_and_read_back(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    read = validate(config(), "test")
    stored = read.model_dump(mode="json")
    assert stored["strategies"][1] == {"kind": "first_answer", "most": 3}
    assert validate(stored, "test") == read
    assert strategy_name(read.strategies[1]) == "first_answer(most=3)"
    assert TypeAdapter(AnyStrategy).validate_python(read.strategies[1]) == read.strategies[1]


def test_a_wrong_setting_of_a_foreign_part_is_one_line_with_its_place(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    with pytest.raises(UserError, match=r"strategies\.0\.most: input should be greater than 0, got 0"):
        validate(config(strategies=[{"kind": "first_answer", "most": 0}]), "test")
    with pytest.raises(UserError, match=r"unknown key 'strategies\.0\.least'"):
        validate(config(strategies=[{"kind": "first_answer", "least": 0}]), "test")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("absent", "'absent' of tiny-strategies (tiny_strategies:Absent) does not load: AttributeError"),
        ("misnamed", "has kind 'first_answer'; give its field `kind` the entry point's name"),
        ("idle", "has no solve; see ttc.protocols"),
        ("no_model", "is no frozen pydantic model"),
        ("nobody", "unknown kind 'nobody'; use direct, cot"),
    ],
)
def test_a_broken_part_is_an_error_of_one_line_that_names_its_package(installed, monkeypatch, kind, words):
    monkeypatch.syspath_prepend(str(installed))
    with pytest.raises(UserError) as raised:
        validate(config(strategies=[{"kind": kind}]), "test")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_other_groups_are_looked_up_too_and_what_is_not_named_is_never_loaded(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))
    validate(config(strategies=[{"kind": "vote", "n": 2}]), "test")  # with broken packages about
    with pytest.raises(UserError, match=r"'gone' of tiny-strategies .* does not load: ModuleNotFoundError"):
        validate(config(benchmark={"kind": "gone"}), "test")


def test_two_packages_with_one_name_are_told_apart_by_the_user(installed, monkeypatch, tmp_path):
    folder = tmp_path / "other-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[ttc.strategies]\nfirst_answer = other:First\n")
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UserError, match=r"'first_answer' is declared by several packages \((other, tiny|tiny-strategies, oth)"):
        plugins.find("ttc.strategies", "first_answer")


def test_the_list_of_parts_names_those_of_packages(installed, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(installed))
    text = (installed / "tiny_strategies-1.dist-info" / "entry_points.txt").read_text()
    (installed / "tiny_strategies-1.dist-info" / "entry_points.txt").write_text(
        "[ttc.strategies]\nfirst_answer = tiny_strategies:FirstAnswer\n"
    )
    try:
        list_parts("strategies")
    finally:
        (installed / "tiny_strategies-1.dist-info" / "entry_points.txt").write_text(text)
    assert "first_answer  Draw until a reply has an answer." in capsys.readouterr().out
