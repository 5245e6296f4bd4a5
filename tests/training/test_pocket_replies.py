"""The pocket model's own replies as training chains."""

import pytest

from training import data, pocket_replies
from training.chains import LabelledChain
from training.config import ChainFiles, PocketReplies
from training.pocket_replies import blinded
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.media import decode_image, encoded
from ttc.pocket import exam
from ttc.pocket.checker import check
from ttc.records import Sampling


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    asked = PocketReplies(
        bank=tmp_path_factory.mktemp("bank"),
        train_questions=5,
        dev_questions=5,
        samples=1,
        sampling=Sampling(max_tokens=16),
        leave_out=("Motion",),
    )
    return asked, *pocket_replies.load(asked)


def test_replies_are_labelled_by_the_exam_and_kept_in_the_bank(drawn):
    asked, train, dev = drawn
    for chain in [*train, *dev]:
        truth = [step.kind == "right" for step in check(exam.find(chain.question.id), "".join(chain.steps))]
        assert chain.labels == tuple(truth)
        key, _, index = chain.sample_id.rpartition("/")
        assert "".join(chain.steps) == Bank(asked.bank).samples([key])[key][int(index)].text


def test_dev_questions_are_others_and_a_subject_left_out_is_in_neither(drawn):
    _, train, dev = drawn
    assert not {chain.group for chain in train} & {chain.group for chain in dev}
    assert {chain.question.fields["subject"] for chain in train} == set(exam.SUBJECTS) - {"Motion"}


def test_blinded_chains_show_one_even_sheet_and_leave_readings_unlabelled(drawn):
    _, train, _ = drawn
    copies = blinded(train, 1.0)
    assert len(blinded(train, 0.5)) == round(0.5 * len(train))
    for copy, one in zip(copies, train, strict=True):
        reads = [step.reads for step in check(exam.find(one.question.id), "".join(one.steps))]
        assert copy.labels == tuple(None if reading else label for reading, label in zip(reads, one.labels, strict=True))
        assert reads[0]
        assert copy.labels[-1] is not None
        assert copy.is_right is None
        for shown, media in zip(copy.question.media, exam.media(exam.find(copy.question.id)), strict=True):
            sheet = decode_image(encoded(shown))
            assert len(sheet.getcolors()) == 1
            assert sheet.size == decode_image(encoded(media)).size
    assert blinded(train, 0.0) == []


def test_groups_on_both_sides_of_files_are_refused(tmp_path):
    from training.chain_files import write_chains
    from ttc.benchmarks.pocket import Pocket

    asked = Pocket(split="train", size=5)
    question = asked.load().questions[0]
    one = LabelledChain(question, ("a",), (True,), (None,), "gold", "pocket", question.id)
    for name in ("train", "dev"):
        write_chains(tmp_path / f"{name}.jsonl", [one])
    files = ChainFiles(benchmarks=(asked,), train=tmp_path / "train.jsonl", dev=tmp_path / "dev.jsonl")
    with pytest.raises(UserError, match="1 groups of chains are in"):
        data.load(files)
