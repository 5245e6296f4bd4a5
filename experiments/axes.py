"""The axes that accuracy is drawn against, of equal rank: each is a field of a curve's points, and is empty where unknown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """One way to count compute, per question and *attributed*: as if the strategy ran alone."""

    key: str
    """Field of a `Point`."""
    label: str
    """In a choice between axes."""
    title: str
    """Beside a figure's axis."""


AXES = {
    axis.key: axis
    for axis in (
        Axis("samples", "samples", "samples per question"),
        Axis("completion_tokens", "completion tokens", "completion tokens per question"),
        Axis("total_tokens", "tokens", "tokens per question, prompt and verifier included"),
        Axis("flops", "FLOPs", "FLOPs per question"),
        Axis("money", "money", "money per question"),
        Axis("device_seconds", "device seconds", "device seconds per question"),
        Axis("path_tokens", "latency in tokens", "tokens on the critical path"),
        Axis("path_seconds", "latency in seconds", "seconds on the critical path"),
    )
}
"""By key. Money, device seconds and latency in seconds need prices and speeds: see `ttc.compute.tariff`."""
COSTS = tuple(key for key in AXES if key != "samples")
"""The axes on which levels of difficulty may differ at equal k."""
