"""Training of the step verifier on a tiny Qwen2.5-VL, with trl and peft; what was learned is asked through `score`."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import TrainerCallback

from training import step_verifier
from training.chains import LabelledChain
from training.config import Lora, Optimisation, StepVerifierTraining
from training.report import figures
from training.step_trainer import IGNORED, Collator
from training.step_verifier import Course, class_weights, last_checkpoint, measure
from ttc.backends.checkpoint import Checkpoint
from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.records import Question, Reply, Sample
from verifiers.metrics import ScoredChain
from verifiers.prm import StepVerifier
from verifiers.render import Rendering

# peft asks transformers for the name it is about to drop
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")

STEPS = ("It is bright.\n", "It is dark.\n", "Done")
MARKER = Rendering(form="marker", marker="<|video_pad|>", heading="", between="\n")
VERDICTS = Rendering(heading="", between="\n")


def question(number: int, brightness: int) -> Question:
    buffer = io.BytesIO()
    Image.new("RGB", (28, 28), (brightness,) * 3).save(buffer, "PNG")
    return Question(f"q{number}", "exam", "open", "<image 1> Look.", media=(media_from_bytes(buffer.getvalue(), marker=1),))


def chain(number: int, labels: Sequence[bool | None] | None = None) -> LabelledChain:
    """What is right can only be seen in the image."""
    is_bright = number % 2 == 0
    asked = question(number, 250 - number if is_bright else number)
    truth = tuple(labels or (is_bright, not is_bright, None))
    return LabelledChain(asked, STEPS, truth, (None,) * 3, "gold", "exam", asked.id)


CHAINS = [chain(number) for number in range(8)]


def config(base: Path, *, rendering: Rendering = VERDICTS, lora: Lora | None = None, **more: Any) -> StepVerifierTraining:
    learning = {"batch": 8, "micro_batch": 8, "learning_rate": 3e-3, "evaluations": 1, "warmup": 0.0}
    optimisation = Optimisation.model_validate({**learning, **more.pop("optimisation", {})})
    data: Any = {"kind": "pocket"}  # the chains are handed over
    return StepVerifierTraining(
        base=Checkpoint(model=str(base)),
        data=data,
        rendering=rendering,
        lora=lora,
        optimisation=optimisation,
        **{"train_vision": True, "max_tokens": 300, **more},
    )


@pytest.fixture(scope="module")
def course(tiny_qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Before any training."""
    return Course(config(tiny_qwen), CHAINS, CHAINS, tmp_path_factory.mktemp("course"))


def scores(folder: Path, chains: Sequence[LabelledChain], **more: Any) -> list[tuple[float, ...]]:
    verifier = StepVerifier(**{"model": str(folder), **more})
    replies = [Reply(one.question, Sample("k", place, "", "".join(one.steps))) for place, one in enumerate(chains)]
    return [one.steps for one in sorted(verifier.open().score(replies), key=lambda one: one.index)]


def right(found: Sequence[tuple[float, ...]], chains: Sequence[LabelledChain]) -> float:
    """Share of labelled steps on the right side of 0.5."""
    hits = [
        (score > 0.5) == label
        for one, truth in zip(found, chains, strict=True)
        for score, label in zip(one, truth.labels, strict=True)
        if label is not None
    ]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("rendering", [VERDICTS, MARKER], ids=["verdicts", "marker"])
def test_eight_chains_are_learned_by_heart_in_both_classes_as_the_public_door_sees_it(tiny_qwen, tmp_path, rendering):
    course = Course(config(tiny_qwen, rendering=rendering, optimisation={"epochs": 40}), CHAINS, CHAINS, tmp_path / "out")
    metrics = course.run()
    found = scores(tmp_path / "out", CHAINS)
    assert right(found, CHAINS) == 1.0
    assert metrics["auroc"] == 1.0
    assert min(one[0] for one in found[::2]) > 0.8
    assert max(one[0] for one in found[1::2]) < 0.2


@pytest.mark.parametrize("rendering", [VERDICTS, MARKER], ids=["verdicts", "marker"])
def test_lora_learns_in_the_language_model_alone_and_reloads_with_equal_scores(tiny_qwen, tmp_path, rendering):
    settings = config(tiny_qwen, rendering=rendering, lora=Lora(rank=4, dropout=0.0), optimisation={"epochs": 4})
    course = Course(settings, CHAINS, CHAINS, tmp_path / "out")
    course.run()
    learns = {name for name, weight in course.trainer.model.named_parameters() if weight.requires_grad}
    assert any("language_model" in name and "lora" in name for name in learns)
    assert not any("visual" in name for name in learns)
    assert any("lm_head" in name for name in learns) == (rendering is MARKER)
    batch = Collator(CHAINS, course.renderer)([{"place": place} for place in range(8)])
    course.trainer.model.eval()
    with torch.no_grad():
        _, z_BS = course.trainer.compute_loss(course.trainer.model, batch, return_outputs=True)
    served = scores(tiny_qwen, CHAINS, adapter=tmp_path / "out")
    torch.testing.assert_close(torch.tensor(served), z_BS.double().sigmoid(), atol=1e-5, rtol=0, check_dtype=False)
    if rendering is MARKER:
        (tmp_path / "out" / "head.safetensors").unlink()
        with pytest.raises(UserError, match=r"no head\.safetensors"):
            scores(tiny_qwen, CHAINS, adapter=tmp_path / "out")


def test_an_adapter_on_another_base_is_refused(tiny_qwen, tmp_path):
    settings = config(tiny_qwen, lora=Lora(rank=4), optimisation={"epochs": 1})
    Course(settings, CHAINS, CHAINS, tmp_path / "out").run()
    about = json.loads((tmp_path / "out" / "step_verifier.json").read_text())
    (tmp_path / "out" / "step_verifier.json").write_text(json.dumps(about | {"base": "0" * 64}))
    with pytest.raises(UserError, match="was trained on 0000"):
        scores(tiny_qwen, CHAINS, adapter=tmp_path / "out")


def test_training_and_serving_see_the_same_ids(course, tmp_path):
    course.save(tmp_path / "out")
    scorer = StepVerifier(model=str(tmp_path / "out")).open()
    hundred = [replace(chain(number), steps=(f"Step {number}: {number} + 1.\n", *STEPS[1:])) for number in range(100)]
    batch = Collator(hundred, course.renderer)([{"place": place} for place in range(100)])
    for place, one in enumerate(hundred):
        shown = scorer._render(Reply(one.question, Sample("k", 0, "", "".join(one.steps))))
        assert tuple(batch["input_ids"][place, : shown.length].tolist()) == shown.encoded.ids
        assert tuple(batch["logits_to_keep"][place].tolist()) == shown.slots


def test_labels_are_ones_zeros_and_ignored_and_never_part_of_what_the_model_sees(course):
    one = Collator([chain(0, (True, False, None))], course.renderer)([{"place": 0}])
    flipped = Collator([chain(0, (False, False, True))], course.renderer)([{"place": 0}])
    assert one["labels"].dtype == torch.float32
    assert one["labels"].tolist() == [[1.0, 0.0, IGNORED]]
    assert flipped["labels"].tolist() == [[0.0, 0.0, 1.0]]
    assert all(one[name].equal(flipped[name]) for name in one if name != "labels")


def test_unlabelled_steps_teach_nothing(course):
    batch = Collator([chain(0, (None, None, None)), chain(1)], course.renderer)([{"place": 0}, {"place": 1}])
    course.trainer.compute_loss(course.model, batch).backward()
    together = course.model.get_output_embeddings().weight.grad.clone()
    course.model.zero_grad()
    course.trainer.compute_loss(course.model, Collator([chain(1)], course.renderer)([{"place": 0}])).backward()
    torch.testing.assert_close(together, course.model.get_output_embeddings().weight.grad, atol=1e-6, rtol=1e-4)


def test_a_chain_that_is_too_long_is_an_error_before_training_and_nothing_is_cut(tiny_qwen, tmp_path):
    long = replace(chain(3), steps=("word " * 300, "b", "c"))
    with pytest.raises(UserError, match=r"a chain of question q3 has .* max_tokens is 300"):
        Course(config(tiny_qwen), [*CHAINS, long], CHAINS, tmp_path / "out")


def test_a_chain_that_cannot_be_shown_is_left_out_and_counted(course, cut_jpeg):
    broken = replace(chain(3), question=replace(question(3, 0), media=(media_from_bytes(cut_jpeg, marker=1),)))
    found = measure([*CHAINS, broken], course.renderer, 300)
    assert (len(found.chains), found.dropped.total()) == (8, 1)


def test_wrong_and_right_steps_weigh_the_same_in_all():
    wrong, many = chain(0, (False, None, None)), [chain(n, (True, True, True)) for n in range(3)]
    weights = class_weights([wrong, *many])
    assert weights[0] * 1 == pytest.approx(weights[1] * 9)
    assert weights[0] + 9 * weights[1] == pytest.approx(10)
    with pytest.raises(UserError, match="9 right and 0 wrong"):
        class_weights(many)


def test_a_step_of_small_micro_batches_is_the_step_of_the_whole_batch(tiny_qwen, tmp_path):
    uneven = [chain(n, (n % 2 == 0, None, None) if n < 4 else None) for n in range(8)]

    def learned(micro_batch: int) -> torch.Tensor:
        settings = config(tiny_qwen, optimisation={"epochs": 1, "micro_batch": micro_batch, "learning_rate": 1e-2})
        course = Course(settings, uneven, CHAINS, tmp_path / str(micro_batch))
        course.run()
        return course.model.get_output_embeddings().weight.detach()

    torch.testing.assert_close(learned(2), learned(8), atol=1e-4, rtol=1e-3)


class _Killed(Exception):
    pass


class _Kill(TrainerCallback):
    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.global_step == 5:
            raise _Killed


def test_a_killed_run_goes_on_from_its_last_whole_checkpoint_and_ends_with_the_same_scores(tiny_qwen, tmp_path):
    settings = config(tiny_qwen, optimisation={"epochs": 8, "evaluations": 4})
    Course(settings, CHAINS, CHAINS, tmp_path / "calm").run()
    course = Course(settings, CHAINS, CHAINS, tmp_path / "killed")
    course.trainer.add_callback(_Kill())
    with pytest.raises(_Killed):
        course.run()
    half = tmp_path / "killed" / "checkpoints" / "checkpoint-6"
    half.mkdir()
    (half / "trainer_state.json").write_text('{"global_st')
    assert last_checkpoint(half.parent) == str(half.parent / "checkpoint-4")
    Course(settings, CHAINS, CHAINS, tmp_path / "killed").run()
    ended, calm = (torch.tensor(scores(tmp_path / name, CHAINS)) for name in ("killed", "calm"))
    torch.testing.assert_close(ended, calm, atol=1e-6, rtol=0)


def test_a_folder_with_another_run_is_not_gone_on_with(tiny_qwen, tmp_path):
    step_verifier._claim(tmp_path, Course(config(tiny_qwen), CHAINS, CHAINS, tmp_path).hash)
    other = Course(config(tiny_qwen), [*CHAINS[:7], chain(7, (True, True, True))], CHAINS, tmp_path)
    with pytest.raises(UserError, match="other settings or data"):
        other.run()
    told = step_verifier.data_hash(config(tiny_qwen), CHAINS)
    for changes in ({"is_right": True}, {"kinds": (None, "logic", None)}):
        assert step_verifier.data_hash(config(tiny_qwen), [replace(CHAINS[0], **changes), *CHAINS[1:]]) != told


def test_dev_chains_of_right_steps_only_do_not_end_a_run_before_its_card():
    right = ScoredChain("q", ("a",), (0.7,), (True,))
    assert figures([right]) == {"chains": 1, "steps": 1, "auroc": None}
    assert figures([right, replace(right, labels=(False,), scores=(0.2,))])["threshold"] == pytest.approx(0.45)
