"""`vllm serve` behind the OpenAI backend: the server renders, tokenises and samples what the engines here do."""

from dataclasses import replace

import pytest

from ttc.backends import OpenAI
from ttc.backends.openai import messages
from ttc.records import Message, Prompt, Sampling, Text

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

SAMPLED = Sampling(max_tokens=96)


def test_the_server_sees_the_same_prompt_ids(address, chat, ask, questions):
    import openai

    with openai.OpenAI(api_key="none", base_url=address) as client:
        for question in questions[::5]:
            request = ask(question)
            completion = client.chat.completions.create(
                model="pocket", messages=messages(request), max_tokens=1, extra_body={"return_token_ids": True}
            )
            assert tuple(completion.prompt_token_ids) == chat.encode(request.prompt, request.images).ids


def test_greedy_replies_are_those_of_the_engine_in_this_process(in_server, in_vllm, ask, draw, questions):
    requests = [ask(question) for question in questions]
    pairs = list(zip(draw(in_server, *requests), draw(in_vllm, *requests), strict=True))
    assert sum((one.text, one.finish) == (other.text, other.finish) for one, other in pairs) >= 0.95 * len(questions)
    assert all(one.prompt_tokens == other.prompt_tokens for one, other in pairs)


@pytest.mark.parametrize("multiple", ["n", "separate"])
def test_seeds_are_those_of_the_samples_however_they_are_asked_for(address, in_vllm, ask, draw, questions, multiple):
    engine = OpenAI(model="pocket", base_url=address, multiple=multiple).open()
    requests = [ask(question, SAMPLED, 8, first=3) for question in questions[:5]]
    served = draw(engine, *requests)
    engine.close()
    here = draw(in_vllm, *requests)
    assert [(sample.index, sample.text) for sample in served] == [(sample.index, sample.text) for sample in here]
    assert [sample.completion_tokens for sample in served] == [sample.completion_tokens for sample in here]


def test_a_prompt_over_the_context_is_rejected_and_the_run_goes_on(in_server, ask, draw, questions):
    long = replace(ask(questions[0]), prompt=Prompt((Message("user", (Text("add " * 600),)),)), images=())
    drawn = {sample.question_id: sample for sample in draw(in_server, long, ask(questions[1]))}
    assert drawn[questions[0].id].status == "rejected"
    assert "512" in drawn[questions[0].id].reason
    assert drawn[questions[1].id].status == "ok"


def test_stop_strings_end_a_served_reply(in_server, in_vllm, ask, draw, questions):
    request = ask(questions[0], Sampling(temperature=0, max_tokens=96, stop=("Answer",)))
    (served,), (here,) = draw(in_server, request), draw(in_vllm, request)
    assert (served.text, served.finish) == (here.text, here.finish)


def test_engine_processes_end_when_what_started_them_is_killed(server):
    import psutil

    processes = psutil.Process(server.pid).children(recursive=True)
    server.kill()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert len(processes) >= 2
    assert alive == []
