"""Public process reward models at work: their layouts of question and steps, and the outputs they are read from."""

import re
from collections.abc import Sequence
from typing import Any

from ttc.errors import UserError
from verifiers.families import Family, PublicVerifier
from verifiers.heads import HeadedScorer
from verifiers.render import Renderer

_LABEL = re.compile(r"^\W*Step\s+\d+\b[*:.)\s]*", re.IGNORECASE)
"""The number that a step of a reply may have of itself."""


class PublicScorer(HeadedScorer):
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: PublicVerifier) -> None:
        form = config.form
        super().__init__(config, LAYOUTS[form.layout], form.head)
        if form.layout != "turns":  # there the renderer knows the verdicts by the slots they stand in
            self._renderer.word_id, self._renderer.bad_id = self._verdicts(form)

    def _verdicts(self, form: Family) -> tuple[int, int]:
        """The two outputs that are weighed against each other; the same where there is but one."""
        if isinstance(form.good, int) and isinstance(form.bad, int):
            return form.good, form.bad
        if form.good is None:
            return 0, 0
        # looked up as a text of two words: some tokenizers know two of each, and the one behind a blank is what it was taught
        ids = self._chat.tokenizer.encode(f"{form.good} {form.bad}", add_special_tokens=False)
        if len(ids) != 2:
            raise UserError(
                f"verifier {self._config.model}: its tokenizer has no words {form.good!r} and {form.bad!r}, which this family "
                "says; choose another family"
            )
        return ids[0], ids[1]


class Numbered(Renderer):
    """The steps are numbered, and each but the first begins behind the tag of the one before, on a new line."""

    def _pieces(self, asked: Any, steps: Sequence[str]) -> list[str]:
        said = [f"Step {place}: {_LABEL.sub('', step).strip()}" for place, step in enumerate(steps, 1)]
        return [self._chat.render(asked.prompt, asked.images) + said[0], *(f"\n{step}" for step in said[1:])]

    def _tokens(self, asked: Any, steps: Sequence[str], word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        ids, slots = super()._tokens(asked, steps, word)
        first = self._chat.tokenizer.bos_token_id
        # put there by its id: behind it, as a text, some tokenizers begin the first word in another way
        return (ids, slots) if first is None else ((first, *ids), tuple(slot + 1 for slot in slots))


class Lines(Renderer):
    """Each step is tokenised alone and the id of a line's end put behind it: within a text the two can be one token."""

    def _tokens(self, asked: Any, steps: Sequence[str], word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        ids: list[int] = self._ids(self._chat.render(asked.prompt, asked.images))
        end = self._ids("\n")
        if len(end) != 1:
            raise UserError(
                f"model {self._name}: the end of a line is {len(end)} tokens of its tokenizer; choose another family"
            )
        slots = []
        for step in steps:
            ids += self._ids(step.strip()) + end
            slots.append(len(ids) - 1)
        return tuple(ids), tuple(slots)

    def _ids(self, text: str) -> list[int]:
        return self._chat.tokenizer.encode(text, add_special_tokens=False)


LAYOUTS: dict[str, type[Renderer]] = {"turns": Renderer, "chat": Renderer, "numbered": Numbered, "lines": Lines}
