import json
from dataclasses import replace

import pytest

from ttc.errors import UserError
from ttc.keys import base_seed, description, request_key
from ttc.records import Clip, FrameRule, Media, Message, Picture, Prompt, Question, Sampling, Text

IMAGE = Media("image", 1, "a" * 64, data=b"png")
VIDEO = Media("video", 0, "b" * 64, data=b"mp4")
QUESTION = Question("q1", "pocket", "multiple-choice", "How long is <image 1>?", ("1 cm", "2 cm"), (IMAGE, VIDEO))
RULE = FrameRule(frames=8)
IDENTITY = {"model": "tiny", "revision": "1f", "dtype": "float32", "pixels": {"max": 1000}, "adapter": None}
SAMPLING = Sampling(temperature=0.7, stop=("\n\n", "END"))


def prompt(*parts, role="user", style="plain"):
    return Prompt((Message("system", (Text("Answer."),)), Message(role, parts or (Picture(IMAGE), Text("How long?")))), style)


def key(question=QUESTION, asked=None, identity=IDENTITY, sampling=SAMPLING, run_seed=0, prefix=()):
    return request_key(question, asked or prompt(), identity, sampling, run_seed, prefix)


CHANGES = {
    "model": {"identity": IDENTITY | {"model": "large"}},
    "revision": {"identity": IDENTITY | {"revision": "2e"}},
    "nested identity": {"identity": IDENTITY | {"pixels": {"max": 1001}}},
    "question text": {"question": replace(QUESTION, text="How wide is <image 1>?")},
    "options": {"question": replace(QUESTION, options=("2 cm", "1 cm"))},
    "question type": {"question": replace(QUESTION, question_type="open")},
    "question media": {"question": replace(QUESTION, media=(replace(IMAGE, sha256="c" * 64), VIDEO))},
    "prompt text": {"asked": prompt(Picture(IMAGE), Text("How long? Think."))},
    "order of parts": {"asked": prompt(Text("How long?"), Picture(IMAGE))},
    "role": {"asked": prompt(role="assistant")},
    "image": {"asked": prompt(Picture(replace(IMAGE, sha256="c" * 64)), Text("How long?"))},
    "max_pixels": {"asked": prompt(Picture(IMAGE, max_pixels=4096), Text("How long?"))},
    "video": {"asked": prompt(Clip(VIDEO, RULE), Text("How long?"))},
    "frames": {"asked": prompt(Clip(VIDEO, FrameRule(frames=9)), Text("How long?"))},
    "frames per second": {"asked": prompt(Clip(VIDEO, FrameRule(kind="fps", frames=8)), Text("How long?"))},
    "temperature": {"sampling": SAMPLING.model_copy(update={"temperature": 0.8})},
    "greedy": {"sampling": SAMPLING.model_copy(update={"temperature": 0.0})},
    "top_p": {"sampling": SAMPLING.model_copy(update={"top_p": 0.9})},
    "top_k": {"sampling": SAMPLING.model_copy(update={"top_k": 40})},
    "max_tokens": {"sampling": SAMPLING.model_copy(update={"max_tokens": 7})},
    "stop": {"sampling": SAMPLING.model_copy(update={"stop": ("\n\n",)})},
    "logprobs": {"sampling": SAMPLING.model_copy(update={"logprobs": True})},
    "run seed": {"run_seed": 1},
    "prefix": {"prefix": (5, 6)},
    "longer prefix": {"prefix": (5, 6, 7)},
}


def test_every_ingredient_makes_another_key():
    keys = {name: key(**change) for name, change in CHANGES.items()}
    assert len({key(), *keys.values()}) == 1 + len(CHANGES)


@pytest.mark.parametrize(
    "same",
    [
        {"question": replace(QUESTION, fields={"topic_difficulty": "Hard"}, cluster="c7")},
        {"question": replace(QUESTION, id="q2", benchmark="other")},
        {"question": replace(QUESTION, media=(replace(IMAGE, data=None), VIDEO))},
        {"asked": prompt(style="another name")},
        {"identity": dict(reversed(IDENTITY.items()))},
        {"identity": IDENTITY | {"pixels": {"max": 1000.0}}},
        {"sampling": SAMPLING.model_copy(update={"stop": ("END", "\n\n", "END")})},
    ],
)
def test_what_does_not_change_a_sample_does_not_change_its_key(same):
    assert key(**same) == key()


def test_whole_numbers_and_equal_floats_are_one_temperature():
    assert key(sampling=Sampling(temperature=1)) == key(sampling=Sampling(temperature=1.0))


def test_a_greedy_sample_is_the_same_under_every_run_seed_and_truncation():
    greedy = Sampling(temperature=0)
    assert key(sampling=greedy, run_seed=0) == key(sampling=greedy, run_seed=1)
    assert key(sampling=greedy) == key(sampling=Sampling(temperature=0, top_p=0.5, top_k=3))


def test_frames_per_second_count_only_under_their_own_rule():
    def clip(kind, fps):
        return key(asked=prompt(Clip(VIDEO, FrameRule(kind=kind, fps=fps)), Text("?")))

    assert clip("linspace", 1) == clip("linspace", 2)
    assert clip("fps", 1) != clip("fps", 2)


def test_a_key_never_changes_between_versions():
    """A bank outlives the program: change this digest only together with `keys.VERSION`."""
    assert key(prefix=(1, 2)) == "72aad62b586806365e93269059275875a528bfe44a3e6b484593b07ff897e9d5"


def test_the_seed_is_the_first_62_bits_of_the_key():
    assert base_seed("f" * 64) == 2**62 - 1
    assert base_seed("8" + "0" * 63) == 2**61
    assert base_seed("0" * 15 + "4" + "f" * 48) == 1


def test_the_description_tells_what_was_hashed():
    told = json.loads(description(QUESTION, prompt(), IDENTITY, SAMPLING, run_seed=3))
    assert told["backend"]["model"] == "tiny"
    assert told["sampling"]["temperature"] == 0.7
    assert told["run_seed"] == 3
    assert told["prompt"][1] == ["user", [{"image": "a" * 64, "max_pixels": None}, {"text": "How long?"}]]


def test_half_a_surrogate_pair_in_a_question_has_a_key():
    assert key(question=replace(QUESTION, text="\ud83d")) != key(question=replace(QUESTION, text="\ude00"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1, 2}, object()])
def test_an_identity_without_canonical_json_is_refused_by_name(value):
    with pytest.raises(UserError, match=r"request\.backend\.dtype"):
        key(identity=IDENTITY | {"dtype": value})
