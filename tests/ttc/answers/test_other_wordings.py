"""Kinds of replies that a reader who had not seen the rules wrote down: choices by letter or text, and open values."""

import pytest

from ttc.answers import extract
from ttc.judges.rules import Rules
from ttc.records import Gold, Question

PHASES = ("solid", "liquid", "gas", "plasma")
COMPOSERS = ("J. S. Bach", "W. A. Mozart", "L. van Beethoven", "F. Chopin")
GENOTYPES = ("Aa", "AA", "aa", "BB")
CURRENTS = (
    "The current rises, because the resistance falls.",
    "The current falls, because the resistance rises.",
    "The current stays the same.",
    "It cannot be determined.",
)
FORMULAS = (r"$x^2+1$", r"$\frac{1}{2}$", r"$\sqrt{2}$", "3:1")
CELLS = ("red blood cell", "white blood cell", "Guanine (G)", "15")
GATES = ("AND gate", "OR gate", "NOT gate", "NAND gate")


def read(options: tuple[str, ...], reply: str) -> str | None:
    return extract(Question("q", "mmmu", "multiple-choice", "?", options), reply).value


def credit(gold: str, reply: str) -> float:
    asked = Question("q", "mmvu", "open", "?")
    return Rules().judge(asked, Gold("q", (gold,)), extract(asked, reply)).credit


@pytest.mark.parametrize(
    "reply",
    [
        "The answer's B.",
        "∴ B",
        "$\\therefore B$",
        "=> B",
        "I choose letter B.",
        "Change my answer to B.",
        "My answer would have to be B.",
        "If I had to guess, B.",
        "By elimination, B.",
        "As I see it, B",
        "Most likely B",
        "Hence the second option, B, is correct.",
        "C? No. B.",
        "Looks like B to me.",
        "So the phase is liquid. (B)",
        "The one labelled B is correct.",
        "I was going to say A, but B makes more sense.",
        "The solid keeps its shape, so it's the liquid.",
        "B 🙂",
        "👉 B",
    ],
)
def test_a_letter_in_a_turn_of_phrase_is_read(reply):
    assert read(PHASES, reply) == "B"


@pytest.mark.parametrize(
    "reply",
    [
        "Also ist Antwort B richtig.",
        "Richtig ist Antwort B.",
        "Antwort B",
        "Ich wähle B.",
        "Es ist B.",
        "La réponse est donc la B.",
        "Je choisis la réponse B.",
        "L'option B est correcte.",
        "La opción B es la correcta.",
        "Elijo la opción B.",
        "A resposta correta é a letra B.",
        "A opção correta é a B.",
        "La risposta giusta è la B.",
        "应该是B。",
        "B选项正确。",
        "不选A，选B。",
        "Nicht A, sondern B.",
        "Odpowiedź B jest poprawna.",
        "Câu trả lời là B.",
    ],
)
def test_a_letter_in_another_language_is_read(reply):
    assert read(PHASES, reply) == "B"


@pytest.mark.parametrize(
    "reply",
    [
        "Answer:&nbsp;B",
        "~~A~~ B",
        "<del>A</del> B",
        "<answer><letter>B</letter></answer>",
        "<response>\n<answer>B</answer>\n<why>A and C are colder</why>\n</response>",
        '{"steps": [{"text": "A no"}], "final": "B"}',
        "| Question | Answer |\n|---|---|\n| 1 | B |",
        "| | |\n|---|---|\n| Answer | B |",
        "- [ ] A\n- [x] B\n- [ ] C\n- [ ] D",
        "A ☐ B ☑ C ☐ D ☐",
    ],
)
def test_a_letter_in_markup_is_read(reply):
    assert read(PHASES, reply) == "B"


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (COMPOSERS, "The composer is J. S. Bach.", "A"),
        (COMPOSERS, "C. Beethoven", "C"),
        (GENOTYPES, "The genotype is AA.", "B"),
        (GENOTYPES, "The offspring must be aa", "C"),
        (CURRENTS, "The current rises because the resistance falls", "A"),
        (CURRENTS, "It can't be determined.", "D"),
        (FORMULAS, "f(x) = x² + 1", "A"),
        (FORMULAS, "√2", "C"),
        (FORMULAS, "3 to 1", "D"),
        (CELLS, "Red Blood Cells", "A"),
        (CELLS, "The base is guanine.", "C"),
        (GATES, "NAND", "D"),
        (("1.5", "15", "5", "51"), "1,5", "A"),
        (("25", "0.25", "2.5", "250"), ".25", "B"),
        (("ratio of 1:2", "ratio of 2:1", "ratio of 1:1", "ratio of 3:1"), "1:2", "A"),
    ],
)
def test_an_options_text_is_read_in_other_spellings(options, reply, letter):
    assert read(options, reply) == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("**B**. Option A is rigid. Option C fills its container. Option D is ionised.", "B"),
        ("B) liquid\n\nA) solid has a fixed shape, so no.\nC) gas fills the container.", "B"),
        ("Options A and B", None),
        ("The arrow in panel B points to C.", None),
        ("- [ ] A\n- [ ] B\n- [ ] C\n- [ ] D", None),
        ("- [x] A\n- [x] B\n- [ ] C\n- [ ] D", None),
        ("Let us consider the liquid, which is at 8.96, and the vapour that co", None),
        ("Looking at A, the shape is fixed. B, the liquid, has", None),
        ("Maybe A? Or B? Hard to say.", None),
    ],
)
def test_what_is_discussed_or_broken_off_is_no_answer(reply, letter):
    assert read(PHASES, reply) == letter


def test_a_label_and_a_word_are_not_run_together():
    assert read(("Symmetrical", "Asymmetrical"), "(A) Symmetrical") == "A"


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("3.5", "Die Antwort ist 3,5 m."),
        ("6.5", "La masa es 6,5 kg."),
        ("1234.5", "1.234,5"),
        ("2:1", "2 : 1"),
        ("2:1", "2 to 1"),
        ("1/3", ".333"),
        ("1.5", "one and a half"),
        ("100", "a hundred"),
        ("37 °C", "37 C"),
        ("60 bpm", "60 beats per minute"),
        ("10 m^2", "10 square meters"),
        ("12", "Given m = 4 kg and a = 3 m/s^2, F = ma = 4*3 = 12 N."),
        ("20", "Using V = IR with I = 2 A and R = 10 Ω, we get V = 20 V."),
        ("6", "The sum of the angles is 180, so x is 6."),
        ("14:30", "It leaves at 14:30."),
        ("May 1945", "In May 1945."),
        ("T. S. Eliot", "It was written by T. S. Eliot."),
        ("J. S. Bach", "The composer is J. S. Bach."),
        ("C", "The answer is C. Since the arrow points there."),
        ("photosynthesis", "This process is known as photosynthesis."),
        ("negative feedback", "It is an example of negative feedback."),
        ("Pareto efficiency", "Pareto efficiency (also known as Pareto optimality)"),
        ("clockwise", "It rotates clockwise"),
        ("tariff", "It's a tariff, i.e. a tax on imports."),
        ("cubism", "This painting belongs to Cubism."),
        ("mitosis", "Mitosis, not meiosis."),
        ("mitosis", "The stage shown belongs to mitosis."),
        ("11", "We count 5 on the left and 6 on the right, giving a total of 11."),
        ("increase", "It will increase."),
        ("no", "No, it is not."),
        ("SO4^2-", "SO₄²⁻"),
        ("C6H12O6", r"$\mathrm{C_6H_{12}O_6}$"),
        ("capacitor", "| Answer |\n|---|\n| capacitor |"),
    ],
)
def test_an_open_value_is_read_in_ordinary_sentences(gold, reply):
    assert credit(gold, reply) == 1


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("35", "3,5"),
        ("21", "2:1"),
        ("2:1", "21"),
        ("2:1", "1:2"),
        ("1020", "10-20"),
        ("333", ".333"),
        ("2:30", "2.30"),
        ("180", "The sum of the angles is 180, so x is 6."),
        ("10", "Using V = IR with I = 2 A and R = 10 Ω, we get V = 20 V."),
        ("Cl-", "Cl"),
        ("Na+", "Na"),
    ],
)
def test_signs_and_what_parts_two_numbers_are_not_lost(gold, reply):
    assert credit(gold, reply) == 0


@pytest.mark.parametrize("reply", ["🤷", "😊", "—", "It is unclear from the video."])
def test_a_shrug_is_no_open_answer(reply):
    assert not extract(Question("q", "mmvu", "open", "?"), reply).values
