"""The model's own confidence, read off the log-probabilities of the tokens it drew: a verifier that costs nothing."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, Field

from ttc.records import Reply, Sample, StepScores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Confidence(BaseModel, frozen=True, extra="forbid"):
    """Geometric mean probability of the drawn tokens: over all, over the tail, or over the least certain window.

    Needs `sampling.logprobs`. DeepConf (Fu et al. 2025, arXiv:2508.15260) averages over the likeliest alternatives of each
    token instead; the bank keeps the log-probability of the drawn one alone.
    """

    kind: Literal["confidence"] = "confidence"
    over: Literal["all", "tail", "lowest_window"] = "all"
    """All tokens of the reply; its last `window`; or the `window` tokens in a row with the lowest mean."""
    window: int = Field(default=2048, gt=0)
    """Tokens; a shorter reply is one window."""
    uses_gold: ClassVar[bool] = False

    def identity(self) -> Mapping[str, object]:
        """The window where it has an effect."""
        return self.model_dump(mode="json", include={"over"} if self.over == "all" else {"over", "window"})

    def response_score(self, scores: StepScores) -> float | None:
        """As stored."""
        return scores.score

    def flops(self, scores: StepScores) -> float | None:
        """None are spent."""
        return 0.0

    @property
    def running(self) -> bool:
        """The windows of a reply have their means while it is drawn."""
        return self.over == "lowest_window"

    def falls(self, sample: Sample) -> list[tuple[int, float]]:
        """Where the window that ends there is the least sure so far. The last score is the sample's own."""
        import numpy as np

        if not sample.logprobs:
            return []
        window = min(self.window, len(sample.logprobs))
        means = _window_means(sample.logprobs, window)
        lowest = np.minimum.accumulate(means)
        places = np.flatnonzero(np.append(True, lowest[1:] < lowest[:-1]))
        return list(zip((places + window).tolist(), np.exp(means[places]).tolist(), strict=True))

    def open(self) -> "ConfidenceScorer":
        """Never fails."""
        return ConfidenceScorer(self)


class ConfidenceScorer:
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: Confidence) -> None:
        self._config = config

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """See `ttc.protocols.Scorer`. A sample without log-probabilities has no score."""
        for reply in replies:
            logprobs = reply.sample.logprobs
            yield reply.scored(exp(self._mean(logprobs))) if logprobs else reply.scored(None, status="no log-probabilities")

    def _mean(self, logprobs: Sequence[float]) -> float:
        window = min(self._config.window, len(logprobs))
        if self._config.over == "all":
            return sum(logprobs) / len(logprobs)
        if self._config.over == "tail":
            return sum(logprobs[-window:]) / window
        return float(_window_means(logprobs, window).min())

    def close(self) -> None:
        """Nothing to free."""


def _window_means(logprobs: Sequence[float], window: int) -> "NDArray[np.float64]":
    """Mean over every `window` values in a row."""
    import numpy as np

    sums = np.concatenate([[0.0], np.cumsum(logprobs)])
    return (sums[window:] - sums[:-window]) / window
