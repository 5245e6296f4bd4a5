"""What a user can do wrong, and what the world can: both end in one line and exit code 2, never in a traceback."""


class UserError(ValueError):
    """Bad input. The message says what, where, the value, and the way out."""


class BudgetSpent(UserError):
    """A strategy asked for more completion tokens than its budget holds."""


class BackendUnavailable(UserError):
    """The engine cannot go on (dead server, out of memory, wrong key); what is committed stays, the same command resumes."""


class MediaError(ValueError):
    """An image or a video cannot be used. Becomes a sample with status `media`; the run goes on."""
