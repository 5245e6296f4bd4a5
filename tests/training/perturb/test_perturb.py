"""Planted errors: one known error of a known kind, which neither style nor traces of editing betray."""

from collections import Counter

import pytest

from training.artefacts import edit_auroc, neighbour_auroc, style_auroc
from training.chains import LabelledChain
from training.corpora import gold_chains
from training.perturb import kinds, perturb
from training.perturb.checks import faults
from ttc.records import Gold, Question


def chain(*steps: str, id: str = "q", options: tuple[str, ...] = (), text: str = "What is it?") -> LabelledChain:
    question = Question(id, "own", "multiple-choice" if options else "open", text, options)
    nothing = (None,) * len(steps)
    return LabelledChain(question, steps, (True,) * len(steps), nothing, "gold", "own", id, True)


CORPUS = [
    chain("The ball is red. ", "The weight is 7 kg.", id="a"),
    chain("The box is blue. ", "The weight is 9 kg.", id="b"),
    chain("It has 3 parts. ", "So 3 + 4 = 7 remain. ", "Then 7 * 2 = 14 are left.", id="c"),
    chain("It has 5 parts. ", "So 5 + 3 = 8 remain. ", "Then 8 * 2 = 16 are left.", id="d"),
]


@pytest.fixture(scope="module")
def exam(shared, tmp_path_factory):
    from ttc.benchmarks.mmvu import MMVU

    return MMVU(path=shared / "data/mmvu/validation.json", videos=tmp_path_factory.mktemp("videos")).load()


@pytest.fixture(scope="module")
def right(exam):
    return gold_chains(exam)


@pytest.fixture(scope="module")
def made(exam, right):
    return perturb(right, exam.golds)


def test_a_planted_error_leaves_its_prefix_labels_the_step_and_says_nothing_of_what_follows():
    for one in perturb(CORPUS, {}):
        assert one.chain.steps[: one.place] == one.right.steps[: one.place]
        assert one.chain.first_error == one.place
        assert one.chain.labels == (*(True,) * one.place, False, *(None,) * (len(one.chain.steps) - one.place - 1))
        assert one.chain.kinds[one.place] is not None
        assert (one.chain.origin, one.chain.group, one.chain.is_right) == ("perturbed", one.right.group, None)


def test_values_come_from_the_corpus_and_trade_places():
    made = perturb(CORPUS, {}, share=0.5)
    put_in, taken_out = (Counter(getattr(one, side) for one in made) for side in ("new", "old"))
    assert all(put_in[value] <= taken_out[value] + 1 for value in put_in)
    assert {one.new for one in made if one.old in "3457 9 8 14 16"} <= {"3", "4", "5", "7", "8", "9", "14", "16", "2"}


def test_later_sums_follow_a_wrong_number():
    made = [one for seed in range(20) for one in perturb(CORPUS, {}, seed=seed) if one.right.group in "cd" and one.place == 0]
    (one, *_) = [one for one in made if one.old in ("3", "5")]
    first, total = int(one.new), int(one.new) + (4 if one.right.group == "c" else 3)
    assert (
        one.chain.steps[1]
        == f"So {first} + {4 if one.right.group == 'c' else one.new if one.old == '3' else 3} = {total} remain. "
    )
    assert one.chain.steps[2] == f"Then {total} * 2 = {total * 2} are left."


def test_a_conclusion_names_another_letter_only_where_it_named_the_gold_one():
    options = ("x1", "y1", "z1")
    made = perturb([chain("The answer is B.", id="a", options=options)], {"a": Gold("a", ("B",))})
    assert {one.new for one in made} <= {"A", "C"}
    assert kinds(made) == {"logic": 1}
    assert perturb([chain("The answer is C.", id="a", options=options)], {"a": Gold("a", ("B",))}) == []


def test_the_gold_option_gives_way_to_another_option_of_its_question():
    one = chain("Clearly Insulin treats it.", id="a", options=("Aspirin", "Insulin", "Morphine"))
    (made,) = perturb([one], {"a": Gold("a", ("B",))})
    assert made.chain.steps[0] in ("Clearly Aspirin treats it.", "Clearly Morphine treats it.")


def test_an_error_in_a_word_of_the_question_is_one_of_reading():
    corpus = [chain("A red ball rolls.", id="a", text="Why does a red ball roll?"), chain("A blue box rolls.", id="b")]
    found = {one.right.group: one.chain.kinds[0] for one in perturb(corpus, {})}
    assert found == {"a": "text", "b": "knowledge"}


def test_the_same_seed_plants_the_same_errors_and_another_one_others():
    assert perturb(CORPUS, {}, seed=1) == perturb(CORPUS, {}, seed=1)
    assert perturb(CORPUS, {}, seed=1) != perturb(CORPUS, {}, seed=2)


@pytest.mark.shared
def test_all_rationales_are_segmented_and_nearly_all_are_perturbed(right, made):
    assert len(right) == 1000
    assert len({one.right.group for one in made}) >= 970
    assert set(kinds(made)) == {"perceptual", "domain_perception", "knowledge", "calculation", "logic", "text"}


@pytest.mark.shared
def test_every_perturbed_rationale_passes_every_check(made):
    for one in made:
        assert faults(one.right.steps, one.chain.steps, one.place, old=one.old, new=one.new) == []


@pytest.mark.shared
def test_errors_stand_equally_often_at_each_place_for_the_times_that_the_step_is_right(right, made):
    wrong, sure = Counter(one.place for one in made), Counter()
    for one in [*right, *(one.chain for one in made)]:
        sure.update(place for place, label in enumerate(one.labels) if label)
    shares = [wrong[place] / (wrong[place] + sure[place]) for place in range(4)]
    assert all(0.2 < share < 0.4 for share in shares)


@pytest.mark.shared
def test_style_does_not_tell_wrong_steps_of_rationales_from_right_ones(right, made):
    assert style_auroc([*right, *(one.chain for one in made)], folds=3) <= 0.6


@pytest.mark.shared
def test_an_edited_step_looks_like_itself_before_the_edit_and_like_its_neighbour(made):
    assert edit_auroc(made, folds=3) <= 0.6
    assert neighbour_auroc(made, folds=3) <= 0.6
