"""The engine against the library's own `generate`, and against itself in other batches."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from ttc.backends import Transformers
from ttc.backends.gumbel import gumbel
from ttc.protocols import Inbox
from ttc.records import Request, Sample, Sampling

Ask = Callable[..., Request]
DrawAll = Callable[..., list[Sample]]

QUESTIONS = ["what is the sum of 3 and 4 ?", "7 plus 8 equals ?", "what digit is the result of 12 minus 5 and then add 1 ?"]


def ids(samples: list[Sample]) -> list[tuple[int, ...]]:
    return [sample.token_ids for sample in samples]


def singles(request: Request) -> list[Request]:
    """The same samples, each as a request of its own."""
    return [replace(request, first=request.first + j, n=1, seed=request.seed + j) for j in range(request.n)]


def every_third(requests: list[Request]) -> list[Request]:
    return [single for request in requests for single in singles(request)[::3]]


def one_at_a_time(backend: Transformers) -> Transformers:
    return backend.model_copy(update={"batch_tokens": 1})


def mixed(ask: Ask, n: int, model: Path, sampling: Sampling | None = None) -> list[Request]:
    """Three questions of different lengths; a vision model sees one, two and no images."""
    shows_images = "vision" in model.name
    colors = (["red"], ["blue", "green"], []) if shows_images else ([], [], [])
    return [ask(text, n, colors=shown, sampling=sampling) for text, shown in zip(QUESTIONS, colors, strict=True)]


@pytest.fixture(params=["text_model", "vision_model"])
def model(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def test_greedy_replies_equal_the_librarys_own_generate_one_prompt_at_a_time(model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(model), dtype="float64")
    greedy = Sampling(temperature=0, max_tokens=30)
    requests = mixed(ask, 1, model, greedy)
    engine = backend.open()
    expected = {}
    for request in requests:
        encoded = engine._chat.encode(request.prompt, request.images)
        tensors = {name: t.double() if t.is_floating_point() else t for name, t in encoded.tensors.items()}
        inputs = torch.tensor([encoded.ids])
        whole = engine._model.generate(
            input_ids=inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=30, do_sample=False, **tensors
        )
        expected[request.question_id] = whole[0, len(encoded.ids) :].tolist()
    assert {sample.question_id: list(sample.token_ids) for sample in draw(backend, *requests)} == expected


def test_in_float64_a_sample_is_the_same_alone_and_in_a_batch_of_64(model: Path, ask: Ask, draw: DrawAll):
    requests = mixed(ask, 22, model, Sampling(max_tokens=10))
    backend = Transformers(model=str(model), dtype="float64")
    together, alone = draw(backend, *requests), draw(one_at_a_time(backend), *every_third(requests))
    assert [sample.token_ids for sample in together if sample.index % 3 == 0] == ids(alone)
    assert len(set(ids(together))) > 60


def test_in_float32_samples_alone_and_in_a_batch_differ_by_near_ties_at_most(model: Path, ask: Ask, draw: DrawAll):
    requests = mixed(ask, 22, model, Sampling(max_tokens=10))
    backend = Transformers(model=str(model))
    together, alone = draw(backend, *requests), draw(one_at_a_time(backend), *every_third(requests))
    pairs = list(zip((sample for sample in together if sample.index % 3 == 0), alone, strict=True))
    different = [(a, b) for a, b in pairs if a.token_ids != b.token_ids]
    assert len(different) <= 1
    for a, b in different:
        request = next(request for request in requests if request.key == a.key)
        assert tie_gap(backend, request, a, b) < 1e-3


def tie_gap(backend: Transformers, request: Request, a: Sample, b: Sample) -> float:
    """How close the two tokens at which the samples part were, in log-probability plus noise."""
    engine = backend.open()
    step = next(step for step, (x, y) in enumerate(zip(a.token_ids, b.token_ids, strict=False)) if x != y)
    encoded = engine._chat.encode(request.prompt, request.images)
    with torch.inference_mode():
        logits = engine._model(input_ids=torch.tensor([[*encoded.ids, *a.token_ids[:step]]]), **encoded.tensors).logits[0, -1]
    scores = logits.double() + gumbel(torch.tensor([request.seed + a.index]), torch.tensor([step]), len(logits))[0]
    return abs(float(scores[a.token_ids[step]] - scores[b.token_ids[step]]))


def test_16_samples_then_48_more_are_the_64_drawn_at_once(text_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(text_model), dtype="float64")
    first, more = draw(backend, ask("digit ?", 16)), draw(backend, ask("digit ?", 48, first=16))
    assert ids(first + more) == ids(draw(backend, ask("digit ?", 64)))


def test_shared_prefill_gives_what_a_prefill_per_sample_gives(model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(model), dtype="float64")
    requests = mixed(ask, 6, model)
    shared = draw(backend, *requests)
    separate = draw(backend, *(single for request in requests for single in singles(request)))
    assert ids(shared) == ids(separate)
    for a, b in zip(shared, separate, strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, atol=1e-6)


def test_logprobs_are_those_of_the_model_before_temperature_whatever_the_padding(model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(model), dtype="float64")
    sampling = Sampling(temperature=0.7, top_k=40, max_tokens=12, logprobs=True)
    requests = mixed(ask, 2, model, sampling)
    engine = backend.open()
    for sample in draw(backend, *requests):
        request = next(request for request in requests if request.key == sample.key)
        encoded = engine._chat.encode(request.prompt, request.images)
        tensors = {name: t.double() if t.is_floating_point() else t for name, t in encoded.tensors.items()}
        whole = torch.tensor([[*encoded.ids, *sample.token_ids]])
        with torch.inference_mode():
            logprobs = engine._model(input_ids=whole, **tensors).logits[0].log_softmax(-1)
        drawn = logprobs[len(encoded.ids) - 1 : -1].gather(-1, torch.tensor(sample.token_ids)[:, None])[:, 0]
        np.testing.assert_allclose(sample.logprobs, drawn.numpy(), atol=1e-5)


def test_first_tokens_follow_the_models_softmax(text_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(text_model), batch_tokens=200_000)
    request = ask("what digit ?", 6000, sampling=Sampling(max_tokens=1))
    counts = np.bincount([sample.token_ids[0] for sample in draw(backend, request)])
    engine = backend.open()
    with torch.inference_mode():
        logits = engine._model(input_ids=torch.tensor([engine._chat.encode(request.prompt, ()).ids])).logits[0, -1]
    expected = 6000 * logits.double().softmax(-1).numpy()
    counts = np.pad(counts, (0, len(expected) - len(counts)))
    likely = expected >= 5
    observed = [*counts[likely], counts[~likely].sum()]
    assert stats.chisquare(observed, [*expected[likely], expected[~likely].sum()]).pvalue > 0.01


def test_a_continuation_with_the_seed_of_the_whole_gives_the_rest_of_it(model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(model), dtype="float64")
    colors = ["red"] if "vision" in model.name else []
    whole = draw(backend, ask("digit ?", colors=colors))[0]
    rest = draw(backend, ask("digit ?", colors=colors, prefix=whole.token_ids[:10]))[0]
    assert rest.token_ids[: len(whole.token_ids) - 10] == whole.token_ids[10:]
    assert rest.prompt_tokens == whole.prompt_tokens
    assert (whole.text.split() + rest.text.split())[: len(whole.text.split())] == whole.text.split()


def test_an_end_token_stops_a_reply_is_counted_and_leaves_no_text(text_model: Path, ask: Ask, draw: DrawAll):
    samples = draw(Transformers(model=str(text_model)), ask("digit ?", 40, sampling=Sampling(max_tokens=150)))
    end = json.loads((text_model / "generation_config.json").read_text())["eos_token_id"]
    stopped = [sample for sample in samples if sample.finish == "stop"]
    assert stopped
    for sample in samples:
        assert sample.completion_tokens == len(sample.token_ids) <= 150
        assert (sample.token_ids[-1] == end) == (sample.finish == "stop")
        assert end not in sample.token_ids[:-1]
        assert "<end>" not in sample.text


def test_samples_arrive_as_they_end_not_as_the_batch_ends(text_model: Path, ask: Ask, inbox: Callable[..., Inbox]):
    engine = Transformers(model=str(text_model)).open()
    request = ask("digit ?", 40, sampling=Sampling(max_tokens=150))
    lengths = [sample.completion_tokens for sample in engine.serve(inbox(request))]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_a_stop_string_ends_the_reply_before_it(text_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(text_model), dtype="float64")
    free = draw(backend, ask("digit ?", 4))
    for index, sample in enumerate(free):
        words = sample.text.split(" ")
        stop = " ".join(words[5:8])[1:]
        cut = draw(backend, ask("digit ?", 4, sampling=Sampling(max_tokens=24, stop=("absent", stop))))[index]
        assert cut.finish == "stop"
        assert cut.text == sample.text[: sample.text.index(stop)]
        assert cut.token_ids == sample.token_ids[: len(cut.token_ids)]
        assert cut.completion_tokens < sample.completion_tokens


def test_an_overlong_prompt_is_rejected_with_its_length_and_the_others_go_on(text_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(text_model))
    long, short = ask("digit " * 300, 2), ask("digit ?", 1)
    answered, *rejected = sorted(draw(backend, long, short), key=lambda sample: sample.status)
    assert answered.status == "ok"
    assert [sample.status for sample in rejected] == ["rejected", "rejected"]
    assert "303 tokens" in rejected[0].reason
    assert "context of 256" in rejected[0].reason
    assert rejected[0].completion_tokens == 0


def test_a_reply_is_cut_where_the_context_ends(text_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(text_model), max_context=20)
    samples = draw(backend, ask("what digit ?", 8, sampling=Sampling(max_tokens=100)))
    assert {sample.prompt_tokens + sample.completion_tokens for sample in samples if sample.finish == "length"} == {20}


def test_requests_with_different_samplings_are_each_drawn_with_their_own(text_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(text_model), dtype="float64")
    samplings = [Sampling(max_tokens=5), Sampling(max_tokens=9, temperature=0), Sampling(max_tokens=9, top_k=2)]
    requests = [ask(text, 3, sampling=sampling) for text, sampling in zip(QUESTIONS, samplings, strict=True)]
    for request in requests:
        together = [sample for sample in draw(backend, *requests) if sample.key == request.key]
        assert ids(together) == ids(draw(backend, request))


def test_images_for_a_text_model_are_rejected(text_model: Path, ask: Ask, draw: DrawAll):
    (sample,) = draw(Transformers(model=str(text_model)), ask("digit ?", colors=["red", "blue"]))
    assert sample.status == "rejected"
    assert "2 images" in sample.reason


def test_images_count_after_merging_and_their_order_matters(vision_model: Path, ask: Ask, draw: DrawAll):
    backend = Transformers(model=str(vision_model), dtype="float64")
    plain, one, two = (draw(backend, ask("digit ?", colors=colors))[0] for colors in ([], ["red"], ["red", "blue"]))
    assert [plain.image_tokens, one.image_tokens, two.image_tokens] == [0, 4, 8]
    assert [plain.image_spans, one.image_spans, two.image_spans] == [(), (4,), (4, 4)]
    # each image stands between two marker tokens and a tag
    assert [one.prompt_tokens - plain.prompt_tokens, two.prompt_tokens - plain.prompt_tokens] == [7, 14]
    swapped = draw(backend, ask("digit ?", colors=["blue", "red"]))[0]
    assert two.logprobs[0] != pytest.approx(swapped.logprobs[0], abs=1e-6) or two.token_ids[0] != swapped.token_ids[0]


def test_a_clip_is_shown_as_one_image_per_frame_in_order(vision_model: Path, ask: Ask):
    chat = Transformers(model=str(vision_model)).open()._chat
    clip, pictures = ask("digit ?", clip=["red", "blue", "green"]), ask("digit ?", colors=["red", "blue", "green"])
    as_clip, as_pictures = chat.encode(clip.prompt, clip.images), chat.encode(pictures.prompt, pictures.images)
    assert as_clip.ids == as_pictures.ids
    assert as_clip.image_tokens == 12
    assert torch.equal(as_clip.tensors["pixel_values"], as_pictures.tensors["pixel_values"])
    assert not torch.equal(as_clip.tensors["pixel_values"][0, 0], as_clip.tensors["pixel_values"][0, 1])


def test_a_text_that_holds_the_image_placeholder_is_rejected(vision_model: Path, ask: Ask, draw: DrawAll):
    (sample,) = draw(Transformers(model=str(vision_model)), ask("what is <image> ?", colors=["red"]))
    assert sample.status == "rejected"
    assert "<image>" in sample.reason


def test_a_prefix_that_holds_an_image_placeholder_is_rejected(vision_model: Path, ask: Ask, draw: DrawAll):
    placeholder = json.loads((vision_model / "config.json").read_text())["image_token_id"]
    (sample,) = draw(Transformers(model=str(vision_model)), ask("digit ?", colors=["red"], prefix=[20, placeholder]))
    assert sample.status == "rejected"


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_changes_samples_and_identity(text_model: Path, tmp_path: Path, ask: Ask, draw: DrawAll):
    peft = pytest.importorskip("peft")
    backend = Transformers(model=str(text_model), dtype="float64")
    lora = peft.get_peft_model(backend.open()._model, peft.LoraConfig(target_modules=["q_proj"], init_lora_weights=False))
    lora.save_pretrained(tmp_path)
    adapted = backend.model_copy(update={"adapter": tmp_path})
    assert adapted.identity() != backend.identity()
    assert draw(adapted, ask("digit ?"))[0].logprobs != draw(backend, ask("digit ?"))[0].logprobs


def test_a_sliding_window_and_grouped_queries_decode_as_in_generate(
    tokenizer_into: Callable[..., object], tmp_path: Path, ask: Ask, draw: DrawAll
):
    from transformers import Gemma2Config, Gemma2ForCausalLM

    tokenizer = tokenizer_into(tmp_path)
    config = Gemma2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, sliding_window=12, initializer_range=0.3, eos_token_id=3, pad_token_id=1,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(3)
        Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    backend = Transformers(model=str(tmp_path))
    requests = [ask(text, sampling=Sampling(temperature=0, max_tokens=40)) for text in QUESTIONS]
    engine = backend.open()
    for request, sample in zip(sorted(requests, key=lambda r: r.question_id), draw(backend, *requests), strict=True):
        prompt = torch.tensor([engine._chat.encode(request.prompt, ()).ids])
        whole = engine._model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=40, do_sample=False
        )
        assert list(sample.token_ids) == whole[0, prompt.shape[1] :].tolist()
