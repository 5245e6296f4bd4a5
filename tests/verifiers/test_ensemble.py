"""Several verifiers as one: what is estimated without labels, what the weights are worth, what is left out and kept."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import roc_auc_score

from ttc.bank import Bank
from ttc.errors import UserError
from ttc.records import Question, Reply, Sample
from ttc.scoring import Scoring
from ttc.select import best
from verifiers import Confidence, Scripted, Truth
from verifiers.ensemble import VOTE, Ensemble, Weights, load_weights, scored_by
from verifiers.ensemble_fit import fit_label_free, fit_labelled
from verifiers.frozen import Dev, question_hash
from verifiers.latent import Latent, cut, fit_latent, unusable, vote_shares

GOOD_AT = Latent(0.35, np.array([0.95, 0.8, 0.7, 0.9, 0.6]), np.array([0.1, 0.3, 0.4, 0.6, 0.45]))


def simulated(n: int = 8000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Which replies are right, and votes of verifiers that err independently."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < GOOD_AT.prevalence
    chances = np.where(right[:, None], GOOD_AT.on_right, GOOD_AT.on_wrong)
    return right, (rng.random(chances.shape) < chances).astype(float)


def scored(seed: int = 0, n: int = 4000) -> tuple[np.ndarray, dict[str, list[float]]]:
    """Scores whose log-odds are normal with another mean for right replies; all but one of the verifiers nearly useless."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.4
    strengths = {"good": 2.0, "fair": 1.2, "poor": 0.3, "worse": 0.2, "idle": 0.1}
    z = {name: rng.normal(strength * right, 1) for name, strength in strengths.items()}
    return right, {name: (1 / (1 + np.exp(-(found + 2)))).tolist() for name, found in z.items()}  # all call most replies good


def auroc(weights: Weights, right: np.ndarray, scores: Mapping[str, list[float]]) -> float:
    rows = [dict(zip(scores, row, strict=True)) for row in zip(*scores.values(), strict=True)]
    return float(roc_auc_score(right, [weights.score(row) for row in rows]))


def test_accuracies_are_recovered_without_a_label():
    right, votes = simulated()
    found = fit_latent(votes)
    true = (votes == right[:, None]).mean(axis=0)
    assert found.accuracy == pytest.approx(true, abs=0.03)
    assert found.prevalence == pytest.approx(right.mean(), abs=0.03)
    assert np.column_stack([found.on_right, found.on_wrong]) == pytest.approx(
        np.column_stack([GOOD_AT.on_right, GOOD_AT.on_wrong]), abs=0.05
    )


def test_what_the_latent_model_believes_beats_the_mean_of_the_votes():
    right, votes = simulated()
    believed = fit_latent(votes).posterior(votes)
    assert roc_auc_score(right, believed) > roc_auc_score(right, votes.mean(axis=1)) + 0.02
    assert believed[believed > 0.9].size > 100
    assert right[believed > 0.9].mean() == pytest.approx(believed[believed > 0.9].mean(), abs=0.03)


def test_a_posterior_is_bayes_rule():
    two = Latent(0.5, np.array([0.9, 0.6]), np.array([0.2, 0.6]))
    assert two.posterior([[1, np.nan], [0, 1], [np.nan, np.nan]]) == pytest.approx([0.9 / 1.1, 0.1 / 0.9, 0.5])


def test_votes_that_are_missing_cost_precision_and_no_bias():
    right, votes = simulated()
    votes[np.random.default_rng(1).random(votes.shape) < 0.3] = np.nan
    true = [(column[~np.isnan(column)] == right[~np.isnan(column)]).mean() for column in votes.T]
    assert fit_latent(votes).accuracy == pytest.approx(true, abs=0.04)


def test_two_verifiers_tell_nothing_of_each_other():
    with pytest.raises(UserError, match="votes of 2 verifiers; it takes three"):
        fit_latent(simulated()[1][:, :2])


def test_constant_and_redundant_members_are_left_out_with_the_reason():
    _, votes = simulated()
    copy = np.where(np.random.default_rng(2).random(len(votes)) < 0.01, 1 - votes[:, 1], votes[:, 1])
    columns = dict(zip("abcde", votes.T, strict=True)) | {"copy": copy, "yes": np.ones(len(votes))}
    found = unusable(columns)
    assert sorted(found) in (["b", "yes"], ["copy", "yes"])
    assert found["yes"] == "nearly constant: votes for 100.0% of the replies"
    assert any("redundant: its votes correlate 0.9" in why for why in found.values())


def test_low_and_high_scores_part_where_they_lie_apart():
    assert cut([0.91, 0.92, 0.9, 0.97, 0.98, 0.99]) == pytest.approx((0.92 + 0.97) / 2)
    assert cut([0.25, 0.25, 1.0, 1.0, 1.0]) == pytest.approx(0.625)
    assert cut([0.5]) == 0.5


def test_weights_learned_without_labels_beat_the_mean_and_come_close_to_those_learned_from_labels():
    right, scores = scored()
    test_right, test_scores = scored(seed=1)
    free, labelled = fit_label_free(scores), fit_labelled(scores, right.tolist())
    mean = float(roc_auc_score(test_right, np.mean(list(test_scores.values()), axis=0)))
    found, best = auroc(free, test_right, test_scores), auroc(labelled, test_right, test_scores)
    assert found > mean + 0.02
    assert found > best - 0.02
    assert free.members["good"].weight > free.members["fair"].weight > free.members["idle"].weight


def test_the_samples_vote_is_a_member_whose_accuracy_is_told_and_which_has_no_weight():
    right, scores = scored()
    vote = np.clip(right * 0.5 + np.random.default_rng(3).normal(0.25, 0.15, len(right)), 0, 1).tolist()
    with_vote = fit_label_free({name: scores[name] for name in ("good", "fair")}, vote)
    assert with_vote.members[VOTE].weight == 0
    assert (with_vote.members[VOTE].accuracy or 0) > 0.9
    with pytest.raises(UserError, match="2 members that differ"):
        fit_label_free({name: scores[name] for name in ("good", "fair")})


def test_a_vote_share_is_that_of_the_other_samples():
    assert vote_shares([0, 0, 1, None, 0]) == [0.5, 0.5, 0.0, 0.0, 0.5]
    assert vote_shares([0]) == [0.0]


def test_a_missing_score_leaves_the_others_and_none_at_all_is_no_score():
    right, scores = scored()
    weights = fit_labelled(scores, right.tolist())
    whole = weights.score(dict.fromkeys(scores, 0.99))
    part = weights.score({**dict.fromkeys(scores, 0.99), "good": None})
    assert whole is not None
    assert part is not None
    assert part < whole
    assert weights.score(dict.fromkeys(scores)) is None


def test_a_fit_is_stored_and_read_again(tmp_path):
    right, scores = scored()
    weights = fit_labelled(scores, right.tolist(), data="d" * 64)
    weights.save(tmp_path / "w.json")
    assert load_weights(tmp_path / "w.json") == weights.sealed()
    for content, wrong in ((b"{}", "fitted: Field required"), (b"\xff", "Invalid JSON")):
        (tmp_path / "w.json").write_bytes(content)
        with pytest.raises(UserError, match=rf"weights .*w\.json: not what `ttc ensemble` writes \({wrong}"):
            load_weights(tmp_path / "w.json")


def test_a_fit_that_was_edited_is_refused(tmp_path):
    right, scores = scored()
    path = tmp_path / "w.json"
    fit_labelled(scores, right.tolist()).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intercept": 9.0}))
    with pytest.raises(UserError, match=r"w\.json: changed since they were fitted"):
        load_weights(path)


def test_a_member_without_any_score_has_no_weight_and_the_fit_says_why():
    right, scores = scored(n=200)
    fitted = fit_labelled({"good": scores["good"], "mute": [None] * 200}, right.tolist())
    assert (fitted.members["mute"].weight, fitted.members["mute"].left_out) == (0, "its score never varies, or it has none")


def test_labels_of_one_class_are_refused():
    _, scores = scored(n=10)
    with pytest.raises(UserError, match="10 replies of one class only"):
        fit_labelled(scores, [True] * 10)


def replies(n: int = 6) -> list[Reply]:
    return [Reply(Question("q", "exam", "open", "?"), Sample("k" * 64, index, "q", f"{index}\nso")) for index in range(n)]


MEMBERS = {"one": Scripted(seed=1, tokens_per_reply=5), "two": Scripted(seed=2, tokens_per_reply=7)}


def test_an_ensemble_finds_its_members_scores_in_the_bank_and_leaves_its_own_there(tmp_path):
    bank = Bank(tmp_path)
    with bank.writer() as writer, Scoring(MEMBERS, bank, writer) as scoring:
        alone = [scoring.score_all(name, replies()) for name in MEMBERS]
    verifiers = {"both": Ensemble(members=MEMBERS)}
    for executed in (6 * 12, 0):
        with bank.writer() as writer, Scoring(verifiers, bank, writer) as scoring:
            found = scoring.score_all("both", replies())
        assert scoring.executed.verifier_tokens == executed
        assert [one.tokens for one in found] == [12] * 6
        assert [one.score for one in found] == pytest.approx([(a.score + b.score) / 2 for a, b in zip(*alone, strict=True)])  # type: ignore[operator]


def test_flops_are_its_members_together_and_unknown_where_one_is():
    members = {**MEMBERS, "two": Scripted(seed=2, tokens_per_reply=7, flops_per_token=3)}
    for flops_per_token, spent in ((2, 5 * 2 + 7 * 3), (None, None)):
        both = Ensemble(members={**members, "one": Scripted(tokens_per_reply=5, flops_per_token=flops_per_token)})
        scorer = both.open()
        [found] = scorer.score(replies(1))
        scorer.close()
        assert both.flops(found) == spent


def test_an_exploit_of_one_member_wins_best_of_64_under_the_mean_and_not_under_the_pessimistic_score():
    rng = np.random.default_rng(0)
    told = rng.uniform(0.2, 0.5, 64) + rng.normal(0, 0.03, (3, 64))  # what three seeds think of 64 replies
    exploit = 17
    told[:, exploit] = 1.0, 0.4, 0.4
    members = {f"seed{n}": Scripted(scores={f"reply {i}": score for i, score in enumerate(row)}) for n, row in enumerate(told)}
    drawn = [Reply(Question("q", "exam", "open", "?"), Sample("k" * 64, i, "q", f"reply {i}")) for i in range(64)]
    winners = {}
    for pessimism in (0.0, 1.0):
        scorer = Ensemble(members=members, pessimism=pessimism).open()
        winners[pessimism] = best([one.score for one in scorer.score(drawn)])
        scorer.close()
    assert winners[0.0] == exploit != winners[1.0]
    assert told[:, winners[1.0]].min() > told[:, exploit].min()


def test_pessimism_is_another_verifier_and_refused_where_there_is_no_mean_of_several(tmp_path: Path):
    assert str(Ensemble(members=MEMBERS).identity()) != str(Ensemble(members=MEMBERS, pessimism=1).identity())
    for settings in ({"members": {"one": Scripted()}}, {"members": MEMBERS, "weights": tmp_path / "w.json"}):
        with pytest.raises(ValidationError, match="pessimism is taken off the mean of several members"):
            Ensemble.model_validate({**settings, "pessimism": 1})


def test_a_member_that_fails_is_named_and_the_others_stand():
    members = {"one": Scripted(), "mute": Confidence()}
    scorer = Ensemble(members=members).open()
    [found] = scorer.score(replies(1))
    scorer.close()
    [alone] = Scripted().open().score(replies(1))
    assert (found.score, found.status) == (pytest.approx(alone.score), "without mute: no log-probabilities")


def test_weights_of_other_members_are_refused(tmp_path: Path):
    right, scores = scored()
    fit_labelled(scores, right.tolist()).save(tmp_path / "w.json")
    with pytest.raises(UserError, match="fitted on other members than these"):
        Ensemble(members=MEMBERS, weights=tmp_path / "w.json").identity()


def test_weights_of_another_verifier_by_the_same_name_and_dev_questions_are_refused(tmp_path: Path):
    right, scores = scored(n=200)
    asked = replies()[0].question
    dev = Dev(benchmark="exam", split="dev", fingerprint="f", questions=(question_hash(asked),), replies=200, hash="h")
    fitted = fit_labelled({"one": scores["good"], "two": scores["fair"]}, right.tolist())
    fitted.bound({name: scored_by(member) for name, member in MEMBERS.items()}, dev).save(tmp_path / "w.json")
    ensemble = Ensemble(members=MEMBERS, weights=tmp_path / "w.json")
    ensemble.refuse_dev([Question("other", "exam", "open", "What?")])
    with pytest.raises(UserError, match=r"w\.json: 1 of the questions were in its dev split"):
        Ensemble(members={"whole": ensemble}).refuse_dev([asked])
    for other in (Scripted(seed=3), Scripted(seed=2, tokens_per_reply=7, aggregation="mean")):
        with pytest.raises(UserError, match=r"fitted on scripted-.* as two, which is scripted-.* here"):
            Ensemble(members={**MEMBERS, "two": other}, weights=tmp_path / "w.json").identity()


def test_other_weights_and_other_aggregations_are_another_verifier(tmp_path: Path):
    right, scores = scored()
    columns = {"one": scores["good"], "two": scores["fair"]}
    fit_labelled(columns, right.tolist()).save(tmp_path / "w.json")
    plain, weighed = Ensemble(members=MEMBERS), Ensemble(members=MEMBERS, weights=tmp_path / "w.json")
    by_mean = Ensemble(members={**MEMBERS, "two": Scripted(seed=2, tokens_per_reply=7, aggregation="mean")})
    assert len({str(one.identity()) for one in (plain, weighed, by_mean)}) == 3


def test_a_member_that_knows_the_gold_is_refused():
    with pytest.raises(ValidationError, match="member t knows the gold answers"):
        Ensemble(members={"t": Truth()})
