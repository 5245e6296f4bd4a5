"""Questions of the pocket exam as requests to an engine, without a bank; nothing here needs pyarrow, DuckDB or PyAV."""

from collections.abc import Iterable
from itertools import islice

from ttc import keys, media, prompts
from ttc.backends.checkpoint import Checkpoint
from ttc.pocket import exam
from ttc.protocols import Engine
from ttc.records import Request, Sample, Sampling


def pocket_requests(model: Checkpoint, questions: int, n: int, sampling: Sampling) -> list[Request]:
    """The first questions of the validation split about images, asked for chains of thought, images decoded."""
    identity = model.identity()
    subjects = tuple(name for name, subject in exam.SUBJECTS.items() if not subject.is_video)
    requests = []
    for problem in islice(exam.problems("validation", subjects), questions):
        question = exam.question(problem)
        prompt = prompts.render(question, style="cot")
        images = tuple(media.load_images(part) for part in prompt.media_parts)
        key = keys.request_key(question, prompt, identity, sampling, 0)
        requests.append(Request(key, question.id, prompt, images, sampling, 0, n, keys.base_seed(key)))
    return requests


class Waiting:
    """An inbox (`ttc.protocols.Inbox`) in which all requests lie from the start."""

    stopped = False

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests = iter(requests)

    def take(self, *, wait: bool) -> Request | None:
        """The next request; None once there is none."""
        return next(self._requests, None)


def answered(engine: Engine, requests: Iterable[Request]) -> list[Sample]:
    """All samples, in order of question and index."""
    return sorted(engine.serve(Waiting(requests)), key=lambda sample: (sample.question_id, sample.index))
