"""The shipped configs: what they need, and whole runs of each on small copies of the data, with a tiny Qwen2.5-VL."""

import importlib.util
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from experiments.config import override, read_yaml, strategy_name, validate
from experiments.curves import Curves
from ttc.bank import Bank
from ttc.pocket.parquet import write_parquet

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "configs/runs").glob("mm*.yaml"))
SWEEPS = sorted((ROOT / "configs/sweeps").glob("mm*.yaml"))
TEMPLATES = ROOT / "ttc/prompts"

each_config = pytest.mark.parametrize("config", SHIPPED, ids=lambda path: path.stem)


@pytest.fixture
def run(ttc: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Runs a config with overrides; the folder of its results, and what the terminal showed."""

    def command(config: Path, *overrides: str, name: str = "run") -> tuple[Path, str]:
        ended = ttc("run", config, *overrides, f"bank={tmp_path / name}-bank", "--out", tmp_path / name)
        assert ended.code == 0, ended.err
        return tmp_path / name, ended.out

    return command


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def accuracies(folder: Path) -> dict[tuple[str, str, int], float]:
    """By level, strategy and k."""
    groups = json.loads((folder / "curves.json").read_text(encoding="utf-8"))["groups"]
    return {
        (group["value"], curve["strategy"], point["k"]): point["accuracy"]
        for group in groups
        for curve in group["curves"]
        for point in curve["points"]
    }


def drawn(folder: Path) -> list[Any]:
    """Every sample that the run graded, with its status."""
    rows = pq.read_table(folder / "samples.parquet").to_pylist()
    stored = Bank(Path(manifest(folder)["config"]["bank"])).samples({row["key"] for row in rows})
    return [stored[row["key"]][row["index"]] for row in rows]


def test_there_is_a_config_for_each_benchmark_setting_and_split():
    assert [path.stem for path in SHIPPED] == [
        "mmmu_pro_standard10",
        "mmmu_pro_standard4",
        "mmmu_pro_vision",
        "mmmu_test",
        "mmmu_validation",
        "mmvu_test",
        "mmvu_validation",
    ]


@each_config
def test_a_dry_run_as_shipped_says_in_one_line_all_that_is_missing_here(
    config: Path, ttc: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    ended = ttc("run", config, "--dry-run")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert f"data set {'yale-nlp/MMVU' if 'mmvu' in config.stem else 'MMMU/MMMU'}" in ended.err
    assert "model Qwen/Qwen2.5-VL-7B-Instruct: neither a folder here nor found on the hub" in ended.err
    assert ("package vllm is not installed" in ended.err) == (importlib.util.find_spec("vllm") is None)


@each_config
def test_a_config_runs_to_its_report_where_data_and_a_model_are_there(
    config: Path, hub: Any, tiny_qwen: Path, run: Callable[..., Any]
):
    backend = f"backend={{kind: transformers, model: {tiny_qwen}}}"
    folder, shown = run(config, backend, "sampling.max_tokens=3", *hub.for_config(config.stem))
    samples = drawn(folder)
    assert {sample.status for sample in samples} == {"ok"}
    assert all(sample.image_tokens for sample in samples)
    fields = validate(read_yaml(config), config.name).by
    assert {group["field"] for group in json.loads((folder / "curves.json").read_text())["groups"]} == {"", *fields}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f'data-field="{field}"' in page for field in fields)
    assert "samples unanswered: truncated" in shown
    hidden = config.stem.endswith("_test")
    assert ("without looking: uniform guess" in shown) == ("Without looking" in page) == (not hidden)
    assert ("ungraded" in shown) == ("the golds are hidden" in shown) == hidden


@pytest.mark.parametrize("config", SWEEPS, ids=lambda path: path.stem)
def test_the_whole_experiment_runs_where_data_and_a_model_are_there(
    config: Path, hub: Any, tiny_qwen: Path, ttc: Callable[..., Any], run: Callable[..., Any], tmp_path: Path
):
    strategies = read_yaml(config)["strategies"]
    sizes = [f"strategies.{place}.n=4" for place, strategy in enumerate(strategies) if "n" in strategy]
    backend = f"backend={{kind: transformers, model: {tiny_qwen}}}"
    small = [backend, "sampling.max_tokens=3", "ks=[1, 4]", *sizes, *hub.for_config(f"{config.stem}_validation")]
    counted = ttc("run", config, "--dry-run", *small, f"bank={tmp_path / 'empty'}")
    assert "to draw; not counted: what beam_search will ask for" in counted.out
    folder, _ = run(config, *small)
    found = Curves.from_json((folder / "curves.json").read_text(encoding="utf-8"))
    assert found.fields == tuple(read_yaml(config)["by"])
    kinds = [entrant.name.partition("(")[0] for entrant in found.entrants]
    assert kinds == ["direct", "cot", "vote", "best_of_n", "rejection", "beam_search", "oracle"]
    points = {curve.strategy.partition("(")[0]: [point.k for point in curve.points] for curve in found.overall.curves}
    assert all(points[kind] == [1, 4] for kind in ("vote", "best_of_n", "rejection", "oracle"))
    assert points["beam_search"] == [4]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f'data-field="{field}"' in page for field in found.fields)


def test_every_strategy_runs_side_by_side_on_the_pocket_exam_and_what_knows_the_truth_is_marked(run: Callable[..., Any]):
    config = ROOT / "configs/sweeps/pocket_strategies.yaml"
    strategies = read_yaml(config)["strategies"]
    sizes = [f"strategies.{place}.n=4" for place, strategy in enumerate(strategies) if "n" in strategy]
    folder, _ = run(config, "limit=3", "benchmark.subjects=[Tables]", *sizes)
    found = Curves.from_json((folder / "curves.json").read_text(encoding="utf-8"))
    golden = {
        strategy_name(strategy): strategy.kind == "oracle" or getattr(strategy, "verifier", "") == "truth"
        for strategy in validate(read_yaml(config), config.name).strategies
    }
    assert {entrant.name: entrant.uses_gold for entrant in found.entrants} == golden
    assert [point.k for point in found.overall.points("beam_search(verifier=sure)")] == [1, 2, 4]
    assert not any(entrant.errors for entrant in found.entrants)


@pytest.mark.parametrize("config", [*SWEEPS, ROOT / "configs/sweeps/pocket_strategies.yaml"], ids=lambda path: path.stem)
def test_what_the_comments_of_a_sweep_propose_is_sound(config: Path):
    content = uncommented(config)
    for key, values in content.pop("grid", {}).items():
        for value in values:
            validate(override(content, [f"{key}={value}"]), config.name)
    validate(content, config.name)


def uncommented(config: Path) -> dict[str, Any]:
    """The config with the grid that its comments show."""
    text = config.read_text(encoding="utf-8")
    body, _, grid = text.partition("# grid:")
    return yaml.safe_load(body + ("grid:" + grid.replace("\n#", "\n") if grid else ""))


@pytest.mark.parametrize("config", [path for path in SHIPPED if "validation" not in path.stem], ids=lambda path: path.stem)
def test_a_test_split_is_run_only_where_it_is_said_what_chose_the_prompt(config: Path, ttc: Callable[..., Any]):
    ended = ttc("run", config, "--dry-run", "prompt_chosen_by=null")
    assert (ended.code, "which validation run chose its prompt" in ended.err) == (2, True)


def test_the_judge_that_mmvu_s_config_proposes_is_one():
    path = ROOT / "configs/runs/mmvu_validation.yaml"
    (proposed,) = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# judge:")]
    config = validate({**read_yaml(path), **yaml.safe_load(proposed.removeprefix("# "))}, "proposed")
    assert config.judge.kind == "cascade"


def test_the_32_frames_of_each_video_reach_the_model(hub: Any, tiny_qwen: Path, run: Callable[..., Any]):
    config = ROOT / "configs/runs/mmvu_validation.yaml"
    backend = f"backend={{kind: transformers, model: {tiny_qwen}}}"
    small = ["sampling.max_tokens=2", "strategies=[{kind: cot}]"]
    data = hub.for_config(config.stem)
    many, few = (
        [sample.image_tokens for sample in drawn(run(config, backend, *small, *data, *frames, name=f"run{len(frames)}")[0])]
        for frames in ([], ["prompt.frames.frames=8"])
    )
    assert many == [32 * tokens // 8 for tokens in few]
    assert len(set(many)) == 1


@pytest.mark.parametrize("mode", [["--dry-run"], []])
def test_a_run_about_videos_that_nobody_fetched_is_refused(mode: list[str], hub: Any, tiny_qwen: Path, ttc: Callable[..., Any]):
    rows = [hub.mmvu_row(number=number, video=f"https://videos.test/never/{number}.mp4") for number in range(3)]
    backend = f"backend={{kind: transformers, model: {tiny_qwen}}}"
    ended = ttc("run", ROOT / "configs/runs/mmvu_validation.yaml", backend, *hub.mmvu(rows), f"bank={hub.root}", *mode)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "3 of 3 questions have a video that is not here; set benchmark.fetch=true" in ended.err


def test_the_pocket_exam_as_mmmu_s_files_gets_the_very_same_results(run: Callable[..., Any], tmp_path: Path):
    subjects = [file.parent.name for file in write_parquet("validation", tmp_path / "exported")]
    pocket = ROOT / "configs/runs/quickstart.yaml"
    settings = ["backend.dtype=float64", "strategies=[{kind: direct}, {kind: vote, n: 2}]", "limit=12", "prompt_chosen_by=null"]
    as_mmmu = [f"benchmark={{kind: mmmu, path: {tmp_path / 'exported'}}}", f"prompt.templates={TEMPLATES / 'pocket.yaml'}"]
    own, _ = run(pocket, "benchmark.split=validation", f"benchmark.subjects={subjects}", *settings, name="own")
    exported, _ = run(pocket, *as_mmmu, *settings, name="exported")
    assert replies(exported) == replies(own)
    assert accuracies(exported) == accuracies(own)
    assert any(accuracies(own).values())


def replies(folder: Path) -> list[tuple[str, str, int, str]]:
    return sorted((sample.question_id, sample.key, sample.index, sample.text) for sample in drawn(folder))


HTML = "<script>alert(document.cookie)</script><img src=x onerror=alert(1)>"
SCRIPTED = f"backend={{kind: scripted, replies: ['{HTML} Answer: A']}}"


def test_hostile_rows_of_mmmu_go_through_a_whole_run_as_recorded_statuses(
    hub: Any, bomb: bytes, cut_jpeg: bytes, run: Callable[..., Any]
):
    columns: list[dict[str, object]] = [
        {"image_1": bomb},
        {"image_1": cut_jpeg},
        {"options": "[__import__('os').abort()]"},
        {"question": f"{HTML} <image 1>"},
        {"image_1": None},
        {"question": None},
        {"options": f"['{HTML}', 'b']", "subfield": HTML},
    ]
    rows = [hub.mmmu_row(**{"id": f"validation_Art_Theory_{number}", **row}) for number, row in enumerate(columns)]
    rows.append(hub.mmmu_row(id="../../etc/hostname"))
    folder, shown = run(ROOT / "configs/runs/mmmu_validation.yaml", SCRIPTED, *hub.mmmu(rows))
    statuses = {sample.question_id.rpartition("_")[2]: sample.status for sample in drawn(folder)}
    expected = {"0": "media", "1": "media", "2": "rejected", "3": "ok", "4": "media", "5": "rejected", "6": "ok"}
    assert statuses == expected | {"../../etc/hostname": "ok"}
    assert "direct, greedy: 5 of 8 samples unanswered: truncated 0, refused 0, failed 5 (media 3, rejected 2)" in shown
    _shows_only_text(folder / "report.html")
    assert any("options cannot be read" in problem for problem in manifest(folder)["benchmark"]["problems"])


def test_hostile_rows_of_mmvu_go_through_a_whole_run_as_recorded_statuses(
    hub: Any, write_video: Callable[..., Path], run: Callable[..., Any]
):
    data = hub.mmvu([])
    folder = hub.root / "MMVU"
    (folder / "empty.mp4").write_bytes(write_video("empty.mp4", frames=0, flags="empty_moov+frag_keyframe").read_bytes())
    (folder / "page.mp4").write_text("<html>404</html>")
    videos = ["empty.mp4", "page.mp4", "../videos/index.jsonl", "/etc/hostname", "file:///etc/hostname"]
    rows = [hub.mmvu_row(number=number, video=video, question=HTML) for number, video in enumerate(videos)]
    rows.append(hub.mmvu_row(number=6, choices={}))
    (folder / "validation.json").write_text(json.dumps(rows))
    results, shown = run(ROOT / "configs/runs/mmvu_validation.yaml", SCRIPTED, *data)
    assert Counter(sample.status for sample in drawn(results)) == {"media": 5 * 17, "rejected": 17}
    assert "direct: 6 of 6 samples unanswered: truncated 0, refused 0, failed 6 (media 5, rejected 1)" in shown
    _shows_only_text(results / "report.html")


def _shows_only_text(page: Path) -> None:
    """What data and models wrote stands in the page, but never as an element of it."""
    text = page.read_text(encoding="utf-8")
    assert "\\u003cscript\\u003ealert(document.cookie)" in text
    assert "<script>alert(document.cookie)" not in text
    assert "<img src=x" not in text
