"""Probes: what they change, and what they say of verifiers of known character."""

from dataclasses import replace

import numpy as np
import pytest

from tests.verifiers import simulated
from tests.verifiers.simulated import asked, picture, replied
from ttc.frames import read_frames
from ttc.media import decode_image, encoded, media_from_bytes, media_from_file
from ttc.records import FrameRule, Question
from verifiers import baselines, findings, probes
from verifiers.findings import Pair
from verifiers.metrics import ScoredChain, Steps, auroc
from verifiers.probes import Case, Changes

CHOICE = Question("c", "exam", "multiple-choice", "Which?", ("left", "right", "up"), fields={"subject": "Art"})


def case(text: str, *, question: Question = CHOICE, answer: str | None = "B", is_right: bool = True, index: int = 0) -> Case:
    return Case(replied(question, text, index), is_right, answer)


def changed(name: probes.Name, *cases: Case):
    return Changes(cases).changed(name, cases[0])


def test_a_blank_image_keeps_its_size_and_place_and_loses_what_it_shows():
    question = asked("q", "Is <image 1> like <image 2>?", picture(10, (30, 20)), picture(250))
    found = changed("blank image", case("It is.", question=question))
    assert [one.marker for one in found.question.media] == [1, 2]
    images = [decode_image(encoded(one)) for one in found.question.media]
    assert [image.size for image in images] == [(30, 20), (56, 56)]
    assert {image.getextrema() for image in images} == {((128, 128),) * 3}
    assert found.question.text == question.text
    assert changed("blank image", case("It is.")) is None


def test_a_blank_video_has_as_many_frames_of_the_same_size(write_video):
    clip = media_from_file(write_video(frames=12, size=(64, 48)), kind="video")
    found = probes.blank(clip)
    frames = [read_frames(one, FrameRule(frames=99)).images for one in (clip, found)]
    assert [len(images) for images in frames] == [12, 12]
    assert {image.size for images in frames for image in images} == {(64, 48)}
    assert all(abs(low - probes.GRAY) < 8 for image in frames[1] for low, _ in image.getextrema())
    assert probes.blank(media_from_bytes(b"no video", kind="video")) is None
    assert probes.blank(media_from_bytes(b"no image")) is None


def test_a_shuffled_image_is_another_question_s_of_the_same_subject():
    questions = [
        replace(asked(f"q{i}", "How bright is <image 1>?", picture(i)), fields={"subject": ("Art", "Math")[i % 2]})
        for i in range(6)
    ]
    found = changed("shuffled image", *(case("Very.", question=one) for one in questions))
    shown = [one.media[0].sha256 for one in questions]
    assert shown.index(found.question.media[0].sha256) in (2, 4)
    assert found.question.media[0].marker == 1
    same = [replace(one, media=questions[0].media) for one in questions]
    assert changed("shuffled image", *(case("Very.", question=one) for one in same)) is None


def test_a_dropped_question_leaves_its_images_and_nothing_to_answer():
    found = changed("question dropped", case("Very.", question=replace(asked(), options=("a", "b")))).question
    assert (found.text, found.options) == ("<image 1>", ())
    assert len(found.media) == 1


@pytest.mark.parametrize(
    ("text", "answer", "question", "endings"),
    [
        ("B is near.\nSo the answer is B.", "B", CHOICE, {"answer is A.", "answer is C."}),
        ("Look.\nIt goes right.", "B", CHOICE, {"goes left.", "goes up."}),
        ("2 + 2 = 4\nAnswer: 4", "4", replace(CHOICE, options=()), {"Answer: 14"}),
    ],
)
def test_a_swapped_answer_changes_the_last_step_alone(text, answer, question, endings):
    other = case("Answer: 14", question=question, answer="14", is_right=False, index=1)
    found = changed("answer swapped", case(text, answer=answer, question=question), other).text
    first = text.split("\n")[0]
    assert found.startswith(first + "\n")
    assert any(found.endswith(ending) for ending in endings)


def test_an_answer_that_is_wrong_already_or_not_in_the_last_step_is_not_swapped():
    assert changed("answer swapped", case("It is B.", is_right=False)) is None
    assert changed("answer swapped", case("It is B.\nThat is all.")) is None
    assert changed("answer swapped", case("It is A.", question=replace(CHOICE, options=("left",)), answer="A")) is None


def test_the_answer_is_swapped_and_not_an_article_that_looks_like_it():
    asked_ = replace(CHOICE, options=("5 N", "7 N"))
    found = changed("answer swapped", case("Look.\nA force of 5 N acts.\nAnswer: 5 N", question=asked_, answer="A"))
    assert found.text == "Look.\nA force of 5 N acts.\nAnswer: 7 N"
    joined = changed("answer swapped", case("Look. A force of 5 N acts. Answer: 5 N", question=asked_, answer="A"))
    assert joined.text == "Look. A force of 5 N acts. Answer: 7 N"


def test_junk_steps_come_from_another_question_and_lead_to_the_right_answer():
    other = case("Boil it.\nCool it.\nIt is A.", question=replace(CHOICE, id="d"), answer="A")
    assert changed("junk steps", case("Look.\nTurn.\nIt is B."), other).text == "Boil it.\nCool it.\nIt is B."
    assert changed("junk steps", case("Look.\nTurn.\nIt is B.")) is None


def test_padding_is_one_step_more_and_the_others_as_they_were():
    text = "Look here.\nTurn there.\nIt is B."
    found = changed("neutral padding", case(text)).text
    assert found.replace(probes.NEUTRAL_STEP, "") == text
    assert len(probes.split(found)) == 4
    assert changed("neutral padding", case(text, question=replace(CHOICE, benchmark="pocket"))) is None


def test_a_changed_reply_has_a_key_of_its_content_and_not_the_samples():
    text = "Look.\nTurn.\nIt is B."
    found = [changed("answer swapped", case(text, index=i)) for i in (0, 0, 1)]
    assert found[0].sample.key == found[1].sample.key != "k" * 64
    dropped = changed("question dropped", case(text))
    assert dropped.sample.key not in {one.sample.key for one in found}


def pairs(after, *, seed: int = 0) -> list[Pair]:
    """Replies scored by one that knows, and their changed copies as `after(rng, chain)` scores them."""
    rng = np.random.default_rng(seed)
    return [Pair(chain, *after(rng, chain)) for chain in simulated.chains(simulated.knows, seed=seed)]


def blinded(rng, chain: ScoredChain):
    """Without the image it cannot tell errors of perception; those of reasoning it tells as before."""
    scores = tuple(
        0.75 + float(rng.normal(0, 0.15)) if kind == "perception" else score
        for kind, score in zip(chain.kinds, chain.scores, strict=True)
    )
    return scores, float(np.mean(scores))


def unmoved(rng, chain: ScoredChain):
    return chain.scores, chain.score


def lost(rng, chain: ScoredChain):
    return tuple(rng.random(len(chain.scores))), float(rng.random())


def test_a_verifier_that_looks_passes_without_its_image_and_one_that_does_not_fails():
    assert findings.without_image("blank image", pairs(blinded)).verdict == "pass"
    same = findings.without_image("blank image", pairs(unmoved))
    assert same.verdict == "fail"
    assert same.figures["perception before"] == same.figures["perception after"] > 0.9


def test_a_verifier_that_loses_its_arithmetic_with_the_image_fails():
    found = findings.without_image("blank image", pairs(lost))
    assert found.verdict == "fail"
    assert found.figures["perception after"] <= findings.BLIND < found.figures["other before"]


def test_errors_are_held_against_right_steps_that_need_the_image_as_much_as_they_do():
    def doubting(rng, chain: ScoredChain):
        """Blind, it doubts every reading, and tells the other steps as before."""
        known = zip(chain.reads_image, chain.scores, strict=True)
        scores = tuple(0.3 + float(rng.normal(0, 0.15)) if reads else score for reads, score in known)
        return scores, float(np.mean(scores))

    rng, kept = np.random.default_rng(0), []
    for chain in simulated.chains(simulated.knows):
        reads = tuple(kind == "perception" or (kind is None and rng.random() < 0.5) for kind in chain.kinds)
        kept.append(replace(chain, reads_image=reads))
    sorted_out = [Pair(chain, *doubting(rng, chain)) for chain in kept]
    mixed = [replace(pair, before=replace(pair.before, reads_image=())) for pair in sorted_out]
    assert findings.without_image("blank image", sorted_out).verdict == "pass"
    assert findings.without_image("blank image", mixed).verdict == "fail"


def test_without_kinds_of_errors_the_answers_decide():
    bare = [Pair(replace(pair.before, kinds=()), pair.scores, pair.score) for pair in pairs(lost)]
    found = findings.without_image("blank image", bare)
    assert (found.verdict, "no steps with known errors" in found.said) == ("pass", True)


def test_a_verifier_that_does_not_read_the_question_is_found_out():
    assert findings.without_question(pairs(unmoved)).verdict == "fail"
    assert findings.without_question(pairs(lost)).verdict == "pass"
    assert findings.without_question(pairs(lost)[:5]).verdict == "not applicable"


def test_changed_answers_must_score_lower_and_padding_must_not_matter():
    lower, higher = (pairs(lambda rng, chain, by=by: (chain.scores, chain.score + by)) for by in (-0.1, 0.1))
    assert findings.lower_scored("answer swapped", lower).verdict == "pass"
    assert findings.lower_scored("answer swapped", higher).verdict == "fail"
    assert findings.padded_alike(pairs(unmoved)).verdict == "pass"
    assert findings.padded_alike(lower).verdict == "fail"
    assert findings.padded_alike([Pair(pair.before, (), None) for pair in lower]).verdict == "not applicable"


def test_bias_for_length_fails_and_a_true_verdict_on_long_replies_does_not():
    assert findings.length_alike(simulated.chains(simulated.likes_length)).verdict == "fail"
    assert findings.length_alike(simulated.chains(simulated.blind)).verdict == "pass"
    truth = [
        replace(chain, scores=tuple(float(one) for one in chain.labels), score=float(all(chain.labels)))
        for chain in simulated.chains(simulated.knows)
    ]
    assert findings.length_alike(truth).verdict == "not applicable"


def test_words_that_give_wrong_steps_away_are_found_by_style_and_only_by_style():
    rng = np.random.default_rng(0)
    right = rng.random(600) < 0.7
    texts = [f"the {'sum' if one else 'total'} is {rng.integers(10, 99)}" for one in right]
    groups = [f"q{i // 6}" for i in range(600)]
    found = {name: baselines.predictions(name, texts, right, groups) for name in baselines.BASELINES}
    assert auroc(right, found["style"]) > 0.95
    assert auroc(right, found["constant"]) == 0.5
    longer = [text + " indeed" * 5 * (not one) for text, one in zip(texts, right, strict=True)]
    assert auroc(right, baselines.predictions("length", longer, right, groups)) > 0.95


def test_style_learned_by_heart_does_not_carry_over_to_other_questions():
    steps = Steps.of(simulated.chains(simulated.knows, questions=100))
    said = baselines.predictions("style", steps.texts, steps.right, steps.units)
    assert auroc(steps.right, said) < 0.65


def test_too_few_questions_fit_no_baseline():
    assert baselines.predictions("style", ["a", "b"], [True, False], ["q", "q"]) is None
    once = [f"word{n}" for n in range(40)]
    assert baselines.predictions("style", once, [n % 2 == 0 for n in range(40)], [n // 2 for n in range(40)]) is not None
