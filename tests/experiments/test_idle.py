"""Settings that do nothing are said."""

from dataclasses import replace

from experiments.idle import idle
from ttc.pool import Fall, Pool
from ttc.strategies import DeepConf, FilteredVote, Rejection

POOL = Pool("q", (0, 1), (1.0, 0.0), 7, (10, 20), None, None, {"v": (0.1, 0.98)}, {"v": (0, 0)}, {"v": None})


def test_a_threshold_that_no_score_reaches_is_said_with_the_scores_there_are():
    for kind in (Rejection, FilteredVote):
        said = list(idle("name", kind(n=2, verifier="v", threshold=7), {"q": POOL}))
        assert said == ["name: no sample reaches threshold 7; scores of v are between 0.1 and 0.98"]
        assert not list(idle("name", kind(n=2, verifier="v", threshold=0.98), {"q": POOL}))


def test_a_warmup_saves_nothing_where_no_window_closes_before_its_reply_ends():
    strategy = DeepConf(n=2, verifier="v", warmup=1)
    at_the_end = replace(POOL, falls={"v": ((Fall(10, 0.1, None),), (Fall(20, 0.98, None),))})
    earlier = replace(POOL, falls={"v": ((Fall(10, 0.1, None),), (Fall(19, 0.98, None),))})
    assert "up to 20 tokens: set verifiers.v.window well below" in next(idle("name", strategy, {"q": at_the_end}))
    assert not list(idle("name", strategy, {"q": at_the_end, "r": earlier}))
