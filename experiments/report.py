"""The report: one HTML file, readable without network, with curves, tables, losses, and a sample browser.

Everything that a model or a data set wrote goes into the page as escaped text or as JSON with `<` escaped; a content policy
lets only the page's own scripts run.
"""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from experiments import figures
from experiments.axes import AXES
from experiments.curves import Curves, Entrant, Point
from experiments.exhibits import GradedDraws, choices, exhibits, packed, status_table
from experiments.gaps import Change, Estimate
from experiments.numbers import percent, short, signed
from experiments.panel import Outcomes
from experiments.tariffs import read_tariffs
from experiments.verify_page import section
from experiments.yardsticks import reference_lines
from ttc.records import Exam

if TYPE_CHECKING:
    from experiments.run import Results
    from experiments.verify import Card

_PAGE = Path(__file__).parent / "page"
SCRIPTS = ("page.js", "panel.js", "tables.js", "risk.js", "charts.js", "exhibit.js", "browser.js")
"""In this order: each uses what stands before it; the charts draw whatever was announced until then."""


def write_report(
    path: Path, manifest: Mapping[str, Any], found: Curves, results: "Results", *, cards: Sequence["Card"] = ()
) -> None:
    """Write the page, whole or not at all.

    Args:
        manifest: the run's `run.json`.
        results: the questions, the samples, and the exact outcomes behind `found`.
        cards: what `ttc verify` found about the run's verifiers.
    """
    text = render(manifest, found, outcomes=results.outcomes, exam=results.plan.exam, graded=results.graded, cards=cards)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def render(
    manifest: Mapping[str, Any],
    found: Curves,
    *,
    outcomes: Outcomes,
    exam: Exam,
    graded: GradedDraws,
    cards: Sequence["Card"] = (),
) -> str:
    """The page as text. Arguments as in `write_report`."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}
    environment.filters |= {
        "percent": percent,
        "signed": signed,
        "short": short,
        "reading": reading,
        "words": words,
        "packed": packed,
    }
    primary = next(iter(found.fields), "")
    fields = list(dict.fromkeys(field for field in (*found.fields, "topic_difficulty", "subject") if _has(exam, field)))
    shown = exhibits(found, outcomes, exam, graded, fields)
    methods = [(index, entrant) for index, entrant in enumerate(found.entrants) if not entrant.uses_gold]
    best, lines, axes = best_method(found), gap_lines(found), _axes(found)
    return environment.get_template("report.html.j2").render(
        name=manifest["name"],
        exam=exam,
        organism=exam.name == "pocket",
        overall=found.overall,
        entrants=found.entrants,
        golds={entrant.name for entrant in found.entrants if entrant.uses_gold},
        fields=list(found.fields),
        primary=primary,
        by=lambda field: list(found.by(field)),
        rows=lambda name, groups: list(zip(*(group.points(name) for group in groups), strict=True)),
        gaps=found.gaps,
        answer=gap_answer(lines),
        changes=lines,
        tiles=_tiles(found, manifest, best),
        uncounted=sum(not sample.counted for by_id in graded.values() for one in by_id.values() for sample in one.samples),
        engines=sorted(manifest.get("engines", {}).items()),
        errors=[(entrant.name, entrant.errors) for entrant in found.entrants if entrant.errors],
        statuses=status_table(graded),
        references=reference_lines(exam),
        methods=[
            {"index": index, "label": entrant.name}
            for index, entrant in sorted(methods, key=lambda pair: best is None or pair[1].name != best[0].name)
        ],
        choices=choices(exam.questions, fields),
        left_out=shown.note,
        facts=_facts(manifest, exam, found),
        problems=exam.problems,
        config=yaml.safe_dump(manifest.get("config", {}), sort_keys=False, allow_unicode=True),
        static=Markup(figures.svg(figures.figure(found, primary if len(found.groups) <= 16 else ""))),
        css=Markup((_PAGE / "page.css").read_text(encoding="utf-8")),
        scripts=[_script(Markup((_PAGE / name).read_text(encoding="utf-8"))) for name in SCRIPTS],
        curves=_rounded(asdict(found)) | {"axes": axes},
        axes=axes,
        overall_risks=[risk for risk in found.risks if not risk.field],
        verified=Markup(section(cards)) if cards else "",
        tariff_notes=read_tariffs(manifest).notes,
        index=shown.index,
        exhibits=shown.details,
        pictures=shown.pictures,
    )


def _axes(found: Curves) -> list[dict[str, Any]]:
    """The compute axes, and whether any point of the run is known on them."""
    points = [point for curve in found.overall.curves for point in curve.points]
    return [
        {
            "key": key,
            "label": f"{axis.label} ({found.currency})" if key == "money" and found.currency else axis.label,
            "title": axis.title,
            "known": any(getattr(point, key) is not None for point in points),
        }
        for key, axis in AXES.items()
    ]


def best_method(found: Curves) -> tuple[Entrant, Point] | None:
    """The method, gold aside, with the highest accuracy over all questions, and where; None without any point."""
    reached = [
        (entrant, point) for entrant in found.entrants if not entrant.uses_gold for point in found.overall.points(entrant.name)
    ]
    return max(reached, key=lambda pair: pair[1].accuracy, default=None)


@dataclass(frozen=True, slots=True)
class GapLine:
    """How one method changes the gap between Easy and Hard from its first k to its last."""

    strategy: str
    first: int
    last: int
    change: float
    change_low: float
    change_high: float
    easy: tuple[float, float]
    """Accuracy on Easy at the first and the last k."""
    hard: tuple[float, float]
    reading: str
    matched: Estimate | None
    """The change at equal tokens, between the ends of what both levels spend; None where that is no range."""


def gap_lines(found: Curves) -> list[GapLine]:
    """One line per method with several budgets; oracles are no methods."""
    golds = {entrant.name for entrant in found.entrants if entrant.uses_gold}
    # In reverse, so that the first field with these levels stays: the gaps are its own.
    levels = {group.value: group for group in reversed(found.groups) if group.field}
    matched = {gap.strategy: gap.change for gap in found.matched if gap.axis == "total_tokens" and gap.scale == "accuracy"}
    lines = []
    for gap in found.gaps:
        if (change := gap.change) is None or gap.strategy in golds:
            continue
        easy, hard = (levels[value].points(gap.strategy) for value in ("Easy", "Hard"))
        lines.append(
            GapLine(
                strategy=gap.strategy,
                first=change.first,
                last=change.last,
                change=change.change,
                change_low=change.low,
                change_high=change.high,
                easy=(easy[0].accuracy, easy[-1].accuracy),
                hard=(hard[0].accuracy, hard[-1].accuracy),
                reading=reading(change),
                matched=matched.get(gap.strategy),
            )
        )
    return lines


def gap_answer(lines: Sequence[GapLine]) -> str:
    """The seed question, answered in one sentence over all methods."""
    if not lines:
        return "This run has no method with more than one budget, so it cannot say."
    groups = {verb: [line.strategy for line in lines if line.reading == verb] for verb in _READINGS}
    said = [f"{verb} with {_listed(names)}" for verb, names in groups.items() if names]
    if len(said) > 1:
        return f"It depends on how the answer is selected: the gap {_listed(said)}."
    opening = {"narrows": "Yes: it", "widens": "No: it"}.get(lines[0].reading, "Not measurably: it")
    return f"{opening} {said[0]}."


_READINGS = ("narrows", "widens", "shows no clear change")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def reading(change: Change) -> str:
    """What the interval of a change says."""
    if change.high < 0:
        return "narrows"
    return "widens" if change.low > 0 else "shows no clear change"


def words(field: str) -> str:
    """A field's name for people."""
    return {"topic_difficulty": "difficulty", "img_type": "image type"}.get(field, field.replace("_", " "))


def _has(exam: Exam, field: str) -> bool:
    return len({value for question in exam.questions for value in question.values(field)}) > 1


def _tiles(found: Curves, manifest: Mapping[str, Any], best: tuple[Entrant, Point] | None) -> list[dict[str, str]]:
    drawn = sum(manifest.get("engines", {}).values())
    clusters = found.overall.clusters
    apart = "independent" if clusters == found.overall.questions else f"{clusters:,} clusters"
    tiles = [{"label": "Questions", "value": f"{found.overall.questions:,}", "note": apart}]
    tiles.append({"label": "Samples", "value": f"{drawn:,}", "note": "read from the bank"})
    if best:
        entrant, point = best
        span = f"[{percent(point.low)}, {percent(point.high)}]"
        span += "" if point.total_tokens is None else f" with {short(point.total_tokens)} tokens"
        tiles.append({"label": f"Best method: {entrant.name}@{point.k}", "value": f"{percent(point.accuracy)} %", "note": span})
    for entrant in found.entrants:
        if entrant.name == entrant.oracle and (points := found.overall.points(entrant.name)):
            note = "right answer among the samples"
            tiles.append({"label": f"Oracle: pass@{points[-1].k}", "value": f"{percent(points[-1].accuracy)} %", "note": note})
            break
    return tiles


def _facts(manifest: Mapping[str, Any], exam: Exam, found: Curves) -> list[tuple[str, str | Sequence[str]]]:
    """Label and value for the provenance list; a sequence is shown as code."""
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("Benchmark", f"{exam.name}, split {exam.split}, {len(exam.questions):,} questions"),
        ("Revision", [exam.revision]),
        ("Fingerprint", [exam.fingerprint]),
    ]
    facts += [(label.replace("_", " ").capitalize(), [_plain(value)]) for label, value in manifest.get("identity", {}).items()]
    engines = [f"{engine or 'unknown'} ({count:,} samples)" for engine, count in sorted(manifest.get("engines", {}).items())]
    mixture = "a mixture: " if len(engines) > 1 else ""
    facts.append(("Engine", mixture + ", ".join(engines)))
    facts += [(f"Strategy {name}", [_plain(config)]) for name, config in manifest.get("strategies", {}).items()]
    facts.append(("Versions", ", ".join(f"{package} {version}" for package, version in manifest.get("versions", {}).items())))
    facts.append(("Intervals", f"{found.draws:,} resamples of {found.overall.clusters:,} clusters, seed {found.seed}"))
    return facts


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_plain(inner)}" for key, inner in value.items())
    return str(value)


def _rounded(value: Any) -> Any:
    """Six significant digits: finer than any pixel, and half the bytes."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _script(text: str) -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return {"text": text, "hash": f"sha256-{digest}"}
