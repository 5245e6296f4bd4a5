"""Explained examples become chains, and the pocket exam labels every step of a reply itself."""

from training.corpora import gold_chains, natural_chain, pocket_chains, pocket_labels
from ttc.benchmarks.exams import seal
from ttc.benchmarks.pocket import Pocket
from ttc.records import Gold, Question, Sample


def exam(*golds: Gold, options: tuple[str, ...] = ()):
    kind = "multiple-choice" if options else "open"
    return seal("own", "test", [Question(gold.question_id, "own", kind, "What?", options) for gold in golds], golds)


def test_every_step_of_an_explanation_is_right_and_an_empty_one_is_no_chain():
    chains = gold_chains(exam(Gold("a", ("1",), "One is so. Thus it is 1."), Gold("b", ("1",), "?"), Gold("c", ("1",))))
    assert [(chain.steps, chain.labels) for chain in chains] == [(("One is so. ", "Thus it is 1."), (True, True))]


def test_a_step_that_stands_by_a_letter_from_before_the_options_were_shuffled_is_unlabelled():
    (chain,) = gold_chains(exam(Gold("a", ("B",), "Heat rises. The answer is C."), options=("x", "y", "z")))
    assert chain.labels == (True, None)


def test_explanations_of_the_pocket_exam_are_right_step_by_step():
    pocket = Pocket(split="train", size=60).load()
    chains = gold_chains(pocket)
    assert len(chains) == len(pocket.questions)
    for chain in chains:
        assert "".join(chain.steps) == pocket.golds[chain.question.id].explanation
        assert pocket_labels(chain.question, chain.steps)[0] == chain.labels


def test_each_line_of_a_pocket_reply_has_the_label_of_the_exam():
    pocket = Pocket(split="train", size=10).load()
    question = pocket.questions[0]
    gold = pocket.golds[question.id]
    first, *rest = gold.explanation.splitlines(keepends=True)
    name, _, value = first.rstrip().partition(": ")
    wrong = f"{name}: {int(value) + 1}\n" + "".join(rest)
    samples = [
        Sample("k", 0, question.id, gold.explanation),
        Sample("k", 1, question.id, wrong),
        Sample("k", 2, question.id, ""),
    ]
    right, broken = pocket_chains([question], {question.id: gold}, {question.id: samples}, model="m")
    assert (set(right.labels), right.is_right, right.first_error) == ({True}, True, None)
    assert (broken.first_error, broken.kinds[0], broken.sample_id) == (0, "perception", "k/1")
    assert "".join(broken.steps) == wrong


def test_steps_within_one_line_share_its_label():
    question = Pocket(split="train", size=10).load().questions[0]
    labels, kinds, reads = pocket_labels(question, ("It is 5. ", "Thus 6."))
    assert (labels, kinds, reads) == ((False, False), ("reasoning", "reasoning"), (False, False))


def test_a_refused_sample_is_no_chain():
    question = Question("q", "own", "open", "What?")
    assert natural_chain(question, Sample("k", 0, "q", "", status="refused"), model="m") is None
