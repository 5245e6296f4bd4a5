import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

import ttc.pocket
from training import pocket_model
from training.pocket import Trainer
from training.pocket_lessons import CONFUSED, PocketTraining, _expanded, _held, micro_batches, pixels
from training.pocket_scores import draw
from ttc.errors import UserError
from ttc.media import load_images
from ttc.pocket import exam
from ttc.prompts import render
from ttc.records import Text

MODEL = Path(ttc.pocket.__file__).parent / "model"
TINY = {"batch": 6, "micro_batch": 3, "same_steps": 2, "read_steps": 2, "easy_steps": 4, "width": 32, "layers": 1}
TINY |= {"vision_width": 32, "vision_layers": 1, "steps": 20}


def losses(folder: Path) -> list[float]:
    return [json.loads(row)["loss"] for row in (folder / "log.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    Trainer(PocketTraining(**TINY), folder).train(minutes=5)
    return folder


@pytest.fixture(scope="module")
def shipped():
    from transformers import AutoModelForImageTextToText, AutoProcessor

    return AutoModelForImageTextToText.from_pretrained(MODEL), AutoProcessor.from_pretrained(MODEL)


def test_a_killed_run_goes_on_as_if_nothing_had_happened(whole_run, tmp_path):
    code = (
        "import sys, pathlib\nfrom training.pocket import *\nfrom training.pocket_lessons import *\n"
        f"Trainer(PocketTraining(**{TINY!r}), pathlib.Path(sys.argv[1])).train(minutes=5, save_every=4)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    while not (tmp_path / "log.jsonl").exists() or len(losses(tmp_path)) < 9:
        assert process.poll() in (None, 0)
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    Trainer(PocketTraining(**TINY), tmp_path).train(minutes=5)
    assert losses(tmp_path) == losses(whole_run)
    assert len(losses(tmp_path)) == 20


def test_another_recipe_does_not_go_on_from_a_foreign_checkpoint(whole_run):
    with pytest.raises(UserError, match="another seed"):
        Trainer(PocketTraining(**TINY | {"seed": 8}), whole_run)


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_training_sees_what_the_processor_and_its_template_make_of_a_prompt(subject):
    source = exam.problem("train", subject, 0)
    processor = pocket_model.processor()
    content: list[dict[str, str]] = []
    seen = []
    for part in render(exam.question(source), style="cot").messages[0].parts:
        images = () if isinstance(part, Text) else load_images(part)
        content += [{"type": "text", "text": part.text}] if isinstance(part, Text) else [{"type": "image"}] * len(images)
        seen += images
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    assert text == pocket_model.asked(source, "cot")
    inputs = processor(text=text, images=seen, return_tensors="np")
    assert processor.tokenizer(_expanded(text))["input_ids"] == inputs["input_ids"][0].tolist()
    # a film is stored in another colour space, which moves a channel by up to three of 255
    ours = np.stack([pixels(image) for image in exam.pictures(source)])
    np.testing.assert_allclose(inputs["pixel_values"][0], ours, atol=0.05 if source.subject.is_video else 1e-5)


def test_the_loss_is_on_the_reply_alone():
    processor = pocket_model.processor()
    flawless = {"direct": 0, "read": 0, "doubt": 0, "slips": 0}
    config = PocketTraining(batch=1, micro_batch=1, same_steps=0, read_steps=0, easy_steps=0, **flawless)
    (batch,) = micro_batches(config, 0, processor)
    source = exam.problem("train", next(iter(exam.SUBJECTS)), 0)
    reply = pocket_model.reply(source, "cot", Random(0)) + pocket_model.END
    taught = batch.targets_BT[0][batch.targets_BT[0] >= 0].tolist()
    assert taught == processor.tokenizer(reply)["input_ids"]
    assert batch.ids_BT[0, -len(taught) :].tolist() == taught


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_words_of_knowledge_are_confused_as_often_as_is_told_and_nothing_else_is(subject):
    rng, wrong, places, slips, sums = Random(3), Counter(), Counter(), 0, 0
    for index in range(1000):
        source = exam.problem("train", subject, index)
        value = source.chain.quantities[source.chain.start]
        for move, said in zip(source.chain.moves, _held(source, PocketTraining(), rng) or source.sums, strict=True):
            rule = source.subject.rules[move.rule]
            places[move.rule] += 1
            wrong[move.rule] += said.expression != rule.expression(value, source.chain.quantities.get(move.quantity, 0))
            value = said.value
            sums, slips = sums + 1, slips + (value != said.expression.value)
    assert set(+wrong) == set(CONFUSED[subject])
    # where a mistake leads out of the exam's numbers the lesson is right, so the shares told are the most
    assert all(wrong[name] / places[name] <= share + 0.06 for name, (_, share) in CONFUSED[subject].items())
    assert 0.02 < slips / sums < PocketTraining().slips + 0.01


def test_the_tokenizer_knows_every_word_and_gives_replies_back_exactly(shipped):
    tokenizer = shipped[1].tokenizer
    for split in ("validation", "test"):
        for source in exam.problems(split):
            for style in ("direct", "cot", "read"):
                reply = pocket_model.reply(source, style, Random(0))
                prompt = pocket_model.asked(source, style)
                ids = tokenizer(prompt + reply)["input_ids"]
                assert tokenizer.unk_token_id not in ids
                assert tokenizer.decode(tokenizer(reply)["input_ids"]) == reply


def test_the_shipped_model_is_small_and_answers_easy_questions(shipped):
    model, processor = shipped
    assert sum(weight.numel() for weight in model.parameters()) <= 3_000_000
    assert (MODEL / "model.safetensors").stat().st_size <= 12_000_000
    easy = list(islice((source for source in exam.problems("validation") if source.level == "Easy"), 30))
    right = [credit for one in draw(model, processor, easy, n=1) for credit in one.credits]
    assert np.mean(right) > 0.6
    assert all(one.answers for one in draw(model, processor, easy, n=1, style="direct"))


def test_without_its_pictures_no_subject_is_answered_better_than_by_chance(shipped):
    sources = list(islice(exam.problems("validation"), 100))
    seen = {one.source.id: one.credits[0] for one in draw(*shipped, sources, n=1)}
    blind = {one.source.id: one.credits[0] for one in draw(*shipped, sources, n=1, is_blank=True)}
    for subject in exam.SUBJECTS:
        names = [source.id for source in sources if source.subject.name == subject]
        assert np.mean([blind[name] for name in names]) <= 0.3
        assert np.mean([blind[name] for name in names]) < np.mean([seen[name] for name in names]) - 0.2
