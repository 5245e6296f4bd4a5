import json
import os
import signal
import subprocess
import sys
import time
from io import BytesIO
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image

import ttc.pocket
from training import pocket_model
from training.pocket import PocketTraining, Trainer, micro_batches, pixels
from training.pocket_scores import draw
from ttc.errors import UserError
from ttc.pocket import exam
from ttc.prompts import render

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


def test_two_fresh_runs_with_one_seed_have_equal_losses(whole_run, tmp_path):
    Trainer(PocketTraining(**TINY), tmp_path).train(minutes=5)
    assert losses(tmp_path) == losses(whole_run)
    assert len(losses(tmp_path)) == 20


def test_a_killed_run_goes_on_as_if_nothing_had_happened(whole_run, tmp_path):
    code = (
        "import sys, pathlib\nfrom training.pocket import *\n"
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


def test_another_recipe_does_not_go_on_from_a_foreign_checkpoint(whole_run):
    with pytest.raises(UserError, match="another seed"):
        Trainer(PocketTraining(**TINY | {"seed": 8}), whole_run)


def test_training_sees_what_the_processor_and_its_template_make_of_a_prompt():
    processor = pocket_model.processor()
    config = PocketTraining(batch=1, micro_batch=1, same_steps=0, read_steps=0, direct=0, read=0)
    (batch,) = micro_batches(config, 0, processor)
    question = exam.question(exam.problem("train", next(iter(exam.SUBJECTS)), 0))
    prompt = render(question, style="cot")
    content = [
        {"type": "text", "text": part.text} if hasattr(part, "text") else {"type": "image"} for part in prompt.messages[0].parts
    ]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    assert text == pocket_model.spoken(prompt)
    inputs = processor(text=text, images=[Image.open(BytesIO(question.media[0].data))], return_tensors="np")
    length = inputs["input_ids"].shape[1]
    assert batch.ids_BT[0, :length].tolist() == inputs["input_ids"][0].tolist()
    assert batch.targets_BT[0].tolist().index(batch.ids_BT[0, length].item()) == length - 1
    np.testing.assert_allclose(inputs["pixel_values"][0], pixels(question), atol=1e-5)


def test_the_tokenizer_knows_every_word_and_gives_replies_back_exactly(shipped):
    tokenizer = shipped[1].tokenizer
    for split in ("validation", "test"):
        for source in exam.problems(split):
            for style in ("direct", "cot"):
                reply = pocket_model.reply(source, style, Random(0))
                prompt = pocket_model.spoken(render(exam.question(source), style=style))
                ids = tokenizer(prompt + reply)["input_ids"]
                assert tokenizer.unk_token_id not in ids
                assert tokenizer.decode(tokenizer(reply)["input_ids"]) == reply


def test_the_shipped_model_is_small_and_answers_easy_questions(shipped):
    model, processor = shipped
    assert sum(weight.numel() for weight in model.parameters()) <= 3_000_000
    assert (MODEL / "model.safetensors").stat().st_size <= 12_000_000
    easy = list(islice((source for source in exam.problems("validation") if source.level == "Easy"), 24))
    right = [credit for one in draw(model, processor, easy, n=1) for credit in one.credits]
    assert np.mean(right) > 0.6
    assert all(one.answers for one in draw(model, processor, easy, n=1, style="direct"))
