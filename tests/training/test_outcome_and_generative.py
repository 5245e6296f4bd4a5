"""Training of outcome and generative verifiers on a tiny Qwen2.5-VL; what was learned is asked through `score`."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from training.chain_files import write_chains
from training.chains import LabelledChain
from training.config import GenerativeVerifierTraining, Lora, Optimisation, OutcomeVerifierTraining, validate
from training.generative_verifier import GenerativeCourse, LessonCollator, rationale, teaches
from training.labels import is_right
from training.outcome_verifier import OutcomeCourse, PairCollator, pairs, wholes
from training.run import train
from ttc.backends import Transformers
from ttc.backends.checkpoint import Checkpoint
from ttc.benchmarks.pocket import Pocket
from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.records import Question, Reply, Sample, Sampling
from verifiers import Generative, OutcomeVerifier

pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")


def question(number: int) -> Question:
    """Bright where the number is even."""
    buffer = io.BytesIO()
    Image.new("RGB", (28, 28), (240 if number % 2 == 0 else 10 + number,) * 3).save(buffer, "PNG")
    return Question(f"q{number}", "exam", "open", "<image 1> Look.", media=(media_from_bytes(buffer.getvalue(), marker=1),))


def chain(number: int, says: str, **more: Any) -> LabelledChain:
    """What is right can only be seen in the image."""
    truth = (says == "Bright") == (number % 2 == 0)
    asked = question(number)
    return replace(
        LabelledChain(
            asked, ("I look.\n", says), (True, truth), (None, None if truth else "perception"), "gold", "exam", asked.id
        ),
        **more,
    )


CHAINS = [chain(number, says) for number in range(6) for says in ("Bright", "Dark")]


def settings(base: Path, lora: Lora | None = None, **learning: Any) -> dict[str, Any]:
    usual = {"batch": 6, "micro_batch": 6, "learning_rate": 3e-3, "evaluations": 1, "warmup": 0.0}
    return {
        "base": Checkpoint(model=str(base)),
        "data": {"kind": "pocket"},  # the chains are handed over
        "lora": lora,
        "optimisation": Optimisation.model_validate({**usual, **learning}),
        "train_vision": True,
        "max_tokens": 2000,
    }


def outcome(base: Path, lora: Lora | None = None, **learning: Any) -> OutcomeVerifierTraining:
    return OutcomeVerifierTraining(**settings(base, lora, **learning))


def generative(base: Path, lora: Lora | None = None, **learning: Any) -> GenerativeVerifierTraining:
    return GenerativeVerifierTraining(**settings(base, lora, **learning))


def replies(chains: Sequence[LabelledChain]) -> list[Reply]:
    return [Reply(one.question, Sample("k" * 64, place, "", "".join(one.steps))) for place, one in enumerate(chains)]


def scores(verifier: OutcomeVerifier | Generative, chains: Sequence[LabelledChain]) -> list[float]:
    scorer = verifier.open()
    found = sorted(scorer.score(replies(chains)), key=lambda one: one.index)
    scorer.close()
    return [one.score if one.score is not None else float("nan") for one in found]


def test_an_outcome_verifier_learns_which_reply_fits_the_image(tiny_qwen, tmp_path):
    course = OutcomeCourse(outcome(tiny_qwen, epochs=16, learning_rate=5e-3), CHAINS, CHAINS, tmp_path / "out")
    metrics = course.run()
    found = scores(OutcomeVerifier(model=str(tmp_path / "out")), CHAINS)
    assert metrics["accuracy"] == 1.0
    for one, other, label in zip(found[::2], found[1::2], (bool(c.labels[1]) for c in CHAINS[::2]), strict=True):
        assert (one > other) == label


def test_an_adapter_and_its_head_score_after_loading_as_they_did_in_training(tiny_qwen, tmp_path):
    course = OutcomeCourse(outcome(tiny_qwen, Lora(rank=4), epochs=4), CHAINS, CHAINS, tmp_path / "out")
    course.run()
    batch = PairCollator(course.train.chains, course.renderer)([{"chosen_ids": [0], "rejected_ids": [1]}])
    with torch.no_grad():
        z = course.trainer.model.eval()(**batch).logits.flatten()
    found = scores(OutcomeVerifier(model=str(tiny_qwen), adapter=tmp_path / "out"), course.train.chains[:2])
    assert found == pytest.approx(z.sigmoid().tolist(), abs=1e-5)
    assert z.abs().max() > 0
    trained = {name for name, weight in course.trainer.model.named_parameters() if weight.requires_grad}
    assert any("lm_head" in name for name in trained)
    assert not any("visual" in name for name in trained)


def test_an_adapter_without_its_head_is_refused(tiny_qwen, tmp_path):
    OutcomeCourse(outcome(tiny_qwen, Lora(rank=4)), CHAINS, CHAINS, tmp_path).run()
    (tmp_path / "head.safetensors").unlink()
    with pytest.raises(UserError, match=r"no weights score\.\* among its tensors"):
        OutcomeVerifier(model=str(tiny_qwen), adapter=tmp_path).open()


def test_ids_in_training_are_those_in_use(tiny_qwen, tmp_path):
    course = OutcomeCourse(outcome(tiny_qwen), CHAINS, CHAINS, tmp_path / "out")
    course.save(tmp_path / "out")
    batch = PairCollator(course.train.chains, course.renderer)([{"chosen_ids": [0], "rejected_ids": [1]}])
    scorer = OutcomeVerifier(model=str(tmp_path / "out")).open()
    for place, chain in enumerate(course.train.chains[:2]):
        shown = scorer._renderer.render(chain.question, ["".join(chain.steps)])
        mask = batch["attention_mask"][place].bool()
        assert batch["input_ids"][place][mask].tolist() == list(shown.encoded.ids)
        assert batch["logits_to_keep"][place].tolist() == [len(shown.encoded.ids) - 1]


def test_pairs_are_of_one_question_and_at_most_as_many_as_asked_for():
    many = wholes([chain(0, says) for says in ("Bright", "Dark") * 5] + [chain(1, "Dark")])
    found = pairs(many, 7, seed=0)
    assert len(found) == 7
    assert all(many[right].labels == (True,) and many[wrong].labels == (False,) for right, wrong in found)
    assert pairs(many, 7, seed=0) == found
    with pytest.raises(UserError, match="1 replies to 1 questions, and none with a right and a wrong one"):
        pairs(many[-1:], 7, seed=0)
    blind = replace(many[1], question=replace(many[1].question, media=chain(1, "Dark").question.media))
    with pytest.raises(UserError, match="2 replies to 2 questions"):
        pairs([many[0], blind], 7, seed=0)


def test_a_reply_is_right_by_its_answer_else_by_its_steps_else_unknown():
    assert is_right(chain(0, "Dark", is_right=True))
    assert is_right(chain(0, "Dark")) is False
    assert is_right(chain(0, "Bright", labels=(True, None))) is None
    assert len(wholes([chain(0, "Bright", labels=(True, None)), chain(0, "Dark")])) == 1


def test_a_rationale_goes_as_far_as_the_first_wrong_step():
    assert rationale(chain(0, "Bright")) == "Step 1: right\nStep 2: right\nVerdict: right"
    early = chain(0, "Dark", labels=(False, None), kinds=("logic", None))
    assert rationale(early) == "Step 1: wrong, logic\nVerdict: wrong"
    assert not teaches(chain(0, "Dark", is_right=True))
    assert not teaches(chain(0, "Bright", labels=(True, None)))


def test_what_a_generative_verifier_learns_is_what_it_is_asked_and_the_prompt_is_not_learned(tiny_qwen, tmp_path):
    course = GenerativeCourse(generative(tiny_qwen), CHAINS, CHAINS, tmp_path / "out")
    batch = LessonCollator(course.train.chains, course.renderer)([{"place": 0}, {"place": 1}])
    learned = [labels[labels >= 0].tolist() for labels in batch["labels"]]
    said = [course.chat.decode(ids[:-1]) for ids in learned]
    assert sorted(said) == sorted(map(rationale, course.train.chains[:2]))
    assert {ids[-1] for ids in learned} == course.chat.end_ids(None)
    asked = Generative(backend=Transformers(model=str(tiny_qwen))).prompt(
        course.train.chains[0].question, course.train.chains[0].steps
    )
    prompt = course.chat.encode(asked, [[Image.new("RGB", (28, 28))]])
    assert batch["input_ids"][0][: len(prompt.ids)].tolist() == list(prompt.ids)
    assert batch["labels"][0][: len(prompt.ids)].unique().tolist() == [-100]


def test_a_copy_with_hidden_images_does_not_change_what_is_said_of_the_reply_that_sees(tiny_qwen, tmp_path):
    seen = chain(0, "Dark")
    blind = replace(seen, question=replace(seen.question, media=chain(1, "Dark").question.media), labels=(None, False))
    course = GenerativeCourse(generative(tiny_qwen), [seen, blind], [seen], tmp_path / "out")
    said = {
        lesson.encoded.ids[lesson.prompt_tokens :]
        for lesson in (course.renderer.render(c.question, c.steps) for c in (seen, blind))
    }
    assert [course.chat.decode(ids[:-1]) for ids in said if "Step 1" in course.chat.decode(ids)] == [rationale(seen)]
    assert len(said) == 2


def test_a_generative_verifier_learns_to_rule(tiny_qwen, tmp_path):
    two = CHAINS[:2]
    words = tmp_path / "short.yaml"
    words.write_text("source: us\nsystem: Check.\nquestion: '{question}'\nreply: '{steps}'\n")
    config = generative(tiny_qwen, epochs=30, learning_rate=6e-3, batch=2, micro_batch=2).model_copy(
        update={"instructions": words}
    )
    GenerativeCourse(config, two, two, tmp_path / "out").run()
    backend = Transformers(model=str(tmp_path / "out"))
    verifier = Generative(backend=backend, instructions=words, votes=1, sampling=Sampling(temperature=0, max_tokens=80))
    assert scores(verifier, two) == [1.0, 0.0]


def test_ttc_train_makes_an_outcome_verifier_from_files_of_chains_with_a_card(tiny_qwen, tmp_path):
    pocket = Pocket(split="validation", subjects=("Tables", "Bars"))
    exam = pocket.load()
    asked = [question for question in exam.questions if question.media][:4]
    right = [LabelledChain(q, (exam.golds[q.id].explanation,), (True,), (None,), "gold", "pocket", q.id) for q in asked]
    wrong = [replace(one, steps=("I guess.",), labels=(False,), origin="perturbed") for one in right]
    write_chains(tmp_path / "train.jsonl", [*right[:2], *wrong[:2]])
    write_chains(tmp_path / "dev.jsonl", [*right[2:], *wrong[2:]])
    files = {"train": str(tmp_path / "train.jsonl"), "dev": str(tmp_path / "dev.jsonl")}
    config = validate(
        {
            "kind": "outcome_verifier",
            "base": {"model": str(tiny_qwen)},
            "data": {"kind": "chains", "benchmarks": [pocket.model_dump()], **files},
            "lora": {"rank": 2},
            "optimisation": {"batch": 2, "micro_batch": 2},
        },
        "test",
    )
    found = train(config, tmp_path / "out")
    assert (found["chains"], found["without_score"], found["right"]) == (4, 0, 0.5)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "# Outcome verifier from" in card
    assert "Steps: 2 right, 2 wrong" in card
