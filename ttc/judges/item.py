"""What a judge is given."""

from dataclasses import dataclass

from ttc.records import Answer, Gold, Question


@dataclass(frozen=True, slots=True)
class Item:
    """One reply to be judged."""

    question: Question
    gold: Gold
    answer: Answer
    """What extraction read from the reply."""
    reply: str
    """The reply itself, for judges that read."""
