from collections.abc import Callable

import hypothesis.strategies as some
from hypothesis import HealthCheck, given, settings

from ttc.backends.chat import Encoded
from ttc.backends.engine import Job, pack
from ttc.records import Request, Sampling

SIZES = some.lists(some.tuples(some.integers(1, 50), some.integers(1, 40), some.integers(1, 30), some.booleans()), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(sizes=SIZES, budget=some.integers(1, 600))
def test_every_sample_is_packed_once_within_the_budget_and_with_its_own_sampling(
    ask: Callable[..., Request], sizes: list[tuple[int, int, int, bool]], budget: int
):
    jobs = [
        Job(ask(f"question {number}", n, sampling=Sampling(temperature=float(hot))), Encoded((0,) * length, 0, {}), limit, 0.0)
        for number, (length, limit, n, hot) in enumerate(sizes)
    ]
    batches = list(pack(jobs, budget))
    packed = [(job.request.key, index) for batch in batches for job, indices in batch for index in indices]
    assert sorted(packed) == sorted((job.request.key, index) for job in jobs for index in range(job.request.n))
    for batch in batches:
        rows = sum(len(indices) for _, indices in batch)
        longest = max(len(job.encoded.ids) for job, _ in batch) + max(job.limit for job, _ in batch)
        assert rows == 1 or rows * longest <= budget
        assert len({job.request.sampling for job, _ in batch}) == 1
