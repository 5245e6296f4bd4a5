"""The verifiers' section of the report, and a page of its own around it: one file, no scripts, no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.numbers import percent, signed
from ttc.statistics import Interval

if TYPE_CHECKING:
    from experiments.verify import Card

_PAGE = Path(__file__).parent / "page"


def section(cards: Sequence["Card"]) -> str:
    """The section as HTML, for the report to include: all that a model or a data set wrote is escaped."""
    return _template("verify.html.j2").render(cards=cards)


def page(cards: Sequence["Card"], run: str) -> str:
    """A whole page."""
    from markupsafe import Markup

    css = Markup((_PAGE / "page.css").read_text(encoding="utf-8"))
    return _template("verify_page.html.j2").render(run=run, css=css, section=Markup(section(cards)))


def _template(name: str):
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"percent": percent, "signed": signed, "number": number, "ranged": ranged, "share": share}
    return environment.get_template(name)


def number(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def ranged(found: Interval | None) -> str:
    """A figure with its interval."""
    return "-" if found is None else f"{number(found.mean)} [{number(found.low, 2)}, {number(found.high, 2)}]"


def share(found: Interval | None) -> str:
    """A share in percent with its interval."""
    return "-" if found is None else f"{percent(found.mean)} [{percent(found.low)}, {percent(found.high)}]"
