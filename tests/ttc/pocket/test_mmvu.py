from ttc.benchmarks import MMVU, Pocket
from ttc.media import encoded
from ttc.pocket.mmvu import write_mmvu


def test_the_film_subject_in_mmvu_s_own_form_is_the_same_exam(tmp_path):
    write_mmvu("validation", tmp_path)
    pocket, mmvu = Pocket(split="validation", subjects=("Motion",)).load(), MMVU(path=tmp_path).load()
    assert set(mmvu.problems) == {f"{id}: subject 'Motion' is in no discipline" for id in pocket.golds}
    assert mmvu.golds == pocket.golds
    for ours, theirs in zip(pocket.questions, mmvu.questions, strict=True):
        assert (ours.id, ours.text, ours.options, ours.question_type) == (
            theirs.id,
            theirs.text,
            theirs.options,
            theirs.question_type,
        )
        assert encoded(ours.media[0]) == encoded(theirs.media[0])


def test_a_question_names_what_it_takes_to_know():
    exam = Pocket(split="validation", subjects=("Motion",)).load()
    assert all(gold.knowledge for gold in exam.golds.values())
