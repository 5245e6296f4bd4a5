"""Numbers as people read them."""


def short(value: float | None) -> str:
    """Three digits and a unit of thousand: 4.94k, 1.2M, 3G; a dash for None."""
    if value is None:
        return "-"
    for unit, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 0.9995 * size:  # what would round to 1000 of the unit below
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def percent(value: float) -> str:
    """One decimal, without the sign."""
    return f"{100 * value:.1f}".replace("-", "\N{MINUS SIGN}")


def signed(value: float) -> str:
    """Percentage points with their sign."""
    return f"{100 * value:+.1f}".replace("-", "\N{MINUS SIGN}")
