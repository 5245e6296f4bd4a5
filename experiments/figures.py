"""Curves as a static figure: for papers, and for readers of the report without scripts."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.axes import AXES
from experiments.curves import Curves, Point
from experiments.numbers import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072b2", "#c75700", "#007f5e", "#b0488b", "#9a6b00", "#1d3f8f", "#6b4c9a")
"""Told apart with any colour vision; each has its own dash and marker besides."""
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "v", "P")
_ORACLE = {"color": "#6a717b", "linestyle": "--", "marker": "D"}
_STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ttc",  # equal curves give equal bytes
    "text.parse_math": False,  # a name with dollar signs is a name
}


def figure(found: Curves, field: str = "", axis: str = "samples") -> "Figure":
    """One panel for all questions and one per value of a field, accuracy in percent against compute in log2.

    Args:
        field: one of `found.fields`, or empty for all questions alone.
        axis: a key of `experiments.axes.AXES`.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    groups = (found.overall, *(found.by(field) if field else ()))
    columns = min(len(groups), 4)
    rows = -(-len(groups) // columns)
    styles = _styles(found)
    with mpl.rc_context(_STYLE):
        drawn = Figure(figsize=(3.1 * columns, 2.7 * rows + 0.5), layout="constrained")
        panels = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, group in zip(panels, groups, strict=False):
            panel.set_title(f"{group.value if group.field else 'all questions'}  (n = {group.questions})", loc="left")
            for entrant in found.entrants:
                label = f"{entrant.name} (uses gold)" if entrant.uses_gold else entrant.name
                _draw(panel, group.points(entrant.name), axis, label, styles[entrant.name])
            panel.set_xscale("log", base=2)
            panel.xaxis.set_major_formatter(lambda value, _: short(value))
            panel.grid(axis="y", color="#e2e5e8")
        for panel in panels[len(groups) :]:
            panel.set_visible(False)
        drawn.supxlabel(AXES[axis].title)
        drawn.supylabel("accuracy, %")
        handles, labels = panels[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside upper left", ncols=6, frameon=False)
    return drawn


def svg(drawn: "Figure") -> str:
    """The figure as an `<svg>` element to stand inside a page."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _styles(found: Curves) -> dict[str, dict[str, Any]]:
    """By strategy name; the same for every figure of a run, and the page's own."""
    methods = [entrant.name for entrant in found.entrants if not entrant.uses_gold]
    lines = [name for name in methods if len(found.overall.points(name)) > 1]
    styles = {entrant.name: _ORACLE for entrant in found.entrants}
    for slot, name in enumerate(methods):
        dash = DASHES[lines.index(name) % len(DASHES)] if name in lines else ":"
        styles[name] = {"color": COLORS[slot % len(COLORS)], "linestyle": dash, "marker": MARKERS[slot % len(MARKERS)]}
    return styles


def _draw(panel: "Axes", points: Sequence[Point], axis: str, label: str, style: dict[str, Any]) -> None:
    points = [point for point in points if (getattr(point, axis) or 0) > 0]
    x = [getattr(point, axis) for point in points]
    panel.plot(x, [100 * point.accuracy for point in points], markersize=4, linewidth=1.5, label=label, **style)
    low, high = ([100 * getattr(point, end) for point in points] for end in ("low", "high"))
    if len(points) > 1:
        panel.fill_between(x, low, high, color=style["color"], alpha=0.13, linewidth=0)
    elif points:
        panel.vlines(x, low, high, color=style["color"], linewidth=1)
