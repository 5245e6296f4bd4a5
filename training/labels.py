"""What is known of a whole reply."""

from training.chains import LabelledChain


def is_right(chain: LabelledChain) -> bool | None:
    """What is known of the whole reply: its answer against the gold, else its steps; None where neither says."""
    if chain.is_right is not None:
        return chain.is_right
    if chain.first_error is not None:
        return False
    return True if all(chain.labels) else None
