"""The pocket exam through vLLM in this process, beside transformers: one model, one prompt, one distribution of replies."""

from dataclasses import replace

import pytest

from ttc import answers as reading
from ttc.benchmarks.pocket import Pocket
from ttc.judges.rules import Rules
from ttc.records import Clip, FrameRule, Message, Picture, Prompt, Sampling, Text
from ttc.statistics import interval

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

SAMPLED = Sampling(max_tokens=96, logprobs=True)


def prompt_ids(engine, request) -> tuple[int, ...]:
    """What vLLM itself makes of the prompt, images expanded."""
    return tuple(engine._runner.run(engine._prompt(request))["prompt_token_ids"])


def what_was_said(sample):
    return sample.text, sample.token_ids, sample.finish, sample.prompt_tokens, sample.image_tokens, sample.completion_tokens


def test_prompt_ids_are_those_of_transformers_images_expanded(in_vllm, chat, ask, questions):
    for question in questions:
        request = ask(question)
        assert prompt_ids(in_vllm, request) == chat.encode(request.prompt, request.images).ids


def test_greedy_replies_are_those_of_transformers_but_for_near_ties(in_vllm, in_transformers, ask, draw, questions):
    requests = [ask(question) for question in questions]
    pairs = zip(draw(in_vllm, *requests), draw(in_transformers, *requests), strict=True)
    assert sum(what_was_said(one) == what_was_said(other) for one, other in pairs) >= 0.95 * len(questions)


def test_accuracies_lie_within_each_others_intervals(in_vllm, in_transformers, ask, draw, questions):
    requests = [ask(question, SAMPLED, 16) for question in questions]
    golds = Pocket(split="test").load().golds
    by_id = {question.id: question for question in questions}
    found = []
    for engine in (in_vllm, in_transformers):
        right = dict.fromkeys(by_id, 0.0)
        for sample in draw(engine, *requests):
            question = by_id[sample.question_id]
            answer = reading.extract(question, sample)
            right[question.id] += Rules().judge(question, golds[question.id], answer).credit / 16
        found.append(interval(list(right.values()), list(right)))
    one, other = found
    assert other.low <= one.mean <= other.high
    assert one.low <= other.mean <= one.high


def test_sixteen_samples_then_fortyeight_are_the_sixtyfour(in_vllm, ask, draw, questions):
    whole = draw(in_vllm, *[ask(question, SAMPLED, 64) for question in questions[:4]])
    parts = draw(in_vllm, *[ask(q, SAMPLED, n, first) for q in questions[:4] for n, first in ((16, 0), (48, 16))])
    assert [(sample.index, sample.token_ids) for sample in whole] == [(sample.index, sample.token_ids) for sample in parts]
    assert len({sample.token_ids for sample in whole}) > 4


def test_logprobs_are_of_the_distribution_before_temperature(in_vllm, in_transformers, ask, draw, questions):
    sampling = Sampling(temperature=0, max_tokens=96, logprobs=True)
    requests = [ask(question, sampling) for question in questions[:10]]
    same = 0
    for one, other in zip(draw(in_vllm, *requests), draw(in_transformers, *requests), strict=True):
        if one.token_ids == other.token_ids:
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-3)
            same += 1
    assert same >= 5
    hot = draw(in_vllm, ask(questions[0], SAMPLED.model_copy(update={"temperature": 2.0}), 4))
    assert all(len(sample.logprobs) == len(sample.token_ids) for sample in hot)


@pytest.mark.parametrize("stop", [("Answer",), (":",), ("r Ans", "\n")])
def test_stop_strings_end_a_reply_and_are_no_part_of_it(in_vllm, in_transformers, ask, draw, questions, stop):
    requests = [ask(question, Sampling(temperature=0, max_tokens=96, stop=stop)) for question in questions[:5]]
    drawn = draw(in_vllm, *requests)
    assert [what_was_said(sample) for sample in drawn] == [what_was_said(s) for s in draw(in_transformers, *requests)]
    assert all(sample.finish == "stop" and not any(word in sample.text for word in stop) for sample in drawn)


def test_a_reply_cut_at_the_limit_says_so(in_vllm, ask, draw, questions):
    (sample,) = draw(in_vllm, ask(questions[0], Sampling(temperature=0, max_tokens=5)))
    assert (sample.finish, sample.completion_tokens, len(sample.token_ids)) == ("length", 5, 5)


def test_a_prefix_is_continued_to_the_same_end(in_vllm, ask, draw, questions):
    request = ask(questions[0])
    (whole,) = draw(in_vllm, request)
    (rest,) = draw(in_vllm, replace(request, prefix=whole.token_ids[:6]))
    assert whole.token_ids[6:] == rest.token_ids
    assert whole.text.endswith(rest.text)
    assert rest.prompt_tokens == whole.prompt_tokens


def test_what_can_never_be_asked_is_rejected_beside_what_can(in_vllm, ask, draw, questions):
    long = replace(ask(questions[0], SAMPLED, 3), prompt=Prompt((Message("user", (Text("add " * 600),)),)), images=())
    drawn = draw(in_vllm, long, ask(questions[1], SAMPLED, 2))
    rejected = [sample for sample in drawn if sample.question_id == questions[0].id]
    assert [(sample.index, sample.status) for sample in rejected] == [(0, "rejected"), (1, "rejected"), (2, "rejected")]
    assert "512" in rejected[0].reason
    assert [sample.status for sample in drawn if sample.question_id == questions[1].id] == ["ok", "ok"]


def test_a_clip_is_several_images(in_vllm, in_transformers, ask, draw, questions):
    request = next(request for request in map(ask, questions) if isinstance(request.prompt.media_parts[0], Picture))
    media, image = request.prompt.media_parts[0].media, request.images[0][0]
    parts = (Clip(media, FrameRule(frames=3)), Picture(media), Text(questions[0].text))
    request = replace(request, prompt=Prompt((Message("user", parts),)), images=((image,) * 3, (image,)))
    (one,), (other,) = draw(in_vllm, request), draw(in_transformers, request)
    assert one.image_tokens == other.image_tokens > 0
    assert what_was_said(one) == what_was_said(other)


def test_greedy_samples_of_one_request_are_copies(in_vllm, ask, draw, questions):
    one, other = draw(in_vllm, ask(questions[0], n=2))
    assert (one.index, other.index) == (0, 1)
    assert one.token_ids == other.token_ids


def test_samples_are_handed_out_before_their_siblings_are_finished(in_vllm, ask, inbox, questions):
    hardest = max(questions, key=lambda question: int(str(question.fields["steps"])))
    serving = in_vllm.serve(inbox(ask(hardest, Sampling(temperature=2, max_tokens=96), 32)))
    unfinished = [in_vllm._engine.output_processor.get_num_unfinished_requests() for _ in serving]
    assert unfinished[0] > 0
    assert in_vllm._drawing == 0


def test_an_image_that_vllms_two_caches_disagree_about_is_sent_again(in_vllm, ask, draw):
    question = next(one for one in Pocket(split="validation").load().questions if one.media)
    request = ask(question, SAMPLED, 4)
    prompt_ids(in_vllm, request)  # now its front end believes that the engine has the image
    assert [sample.status for sample in draw(in_vllm, request)] == ["ok"] * 4
