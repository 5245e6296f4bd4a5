"""Replies to multiple-choice questions: option texts, other languages, thinking, structured output."""

import pytest

from ttc.answers import extract
from ttc.records import Question

PROCESSES = ("glycolysis", "photosynthesis", "transcription", "translation")
SIGNED = ("2", "-2", "4", "-4")
PERCENTS = ("10%", "110%", "1%", "0%")
BOTH = ("Both A and B", "Only A", "Only B", "Neither A nor B")
MONEY = ("$10", "$25 million", "$2.5 million", "$250")
ROMAN = ("I", "II", "III", "IV")
BLOOD = ("A", "B", "AB", "O")
CURRENTS = ("10 V", "20 V", "5 A", "2 A")
SHUFFLED = ("A", "C", "B", "D")


def read(options: tuple[str, ...], reply: str) -> str | None:
    return extract(Question("q", "mmmu", "multiple-choice", "?", options), reply).value


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (BOTH, "Both A and B", "A"),
        (BOTH, "The answer is both A and B.", "A"),
        (BOTH, "Answer: A", "A"),
        (BOTH, "Only B", "C"),
        (BOTH, "Answer: Neither A nor B", "D"),
        (BOTH, "Answer: C. Only B", "C"),
        (SIGNED, "-2", "B"),
        (SIGNED, "The answer is -2", "B"),
        (SIGNED, "The answer is −2.", "B"),
        (SIGNED, "x = -4", "D"),
        (SIGNED, "Answer: 2", "A"),
        (SIGNED, "so x equals 2", "A"),
        (SIGNED, "4.0", "C"),
        (SIGNED, "four", "C"),
        (PERCENTS, "110%", "B"),
        (PERCENTS, "The efficiency is 110 %", "B"),
        (PERCENTS, "110 percent", "B"),
        (MONEY, "$25 million", "B"),
        (MONEY, "The answer is 25 million dollars.", "B"),
        (MONEY, "$25,000,000", "B"),
        (MONEY, "2.5 million", "C"),
        (MONEY, "250", "D"),
        (ROMAN, "II", "B"),
        (ROMAN, "Answer: III", "C"),
        (ROMAN, "The answer is IV", "D"),
        (ROMAN, "Answer: C", "C"),
        (ROMAN, "Answer: B. II", "B"),
        (ROMAN, "C. III", "C"),
        (BLOOD, "Answer: AB", "C"),
        (BLOOD, "AB", "C"),
        (BLOOD, "Answer: C", "C"),
        (BLOOD, "The blood type is O", "D"),
        (("True", "False"), "False.", "B"),
        (("True", "False"), "The statement is false.", "B"),
        (("Yes", "No"), "No", "B"),
        (("Yes", "No"), "No, it does not.", "B"),
        (("increase", "no increase", "decrease"), "no increase", "B"),
        (("increase", "no increase"), "There is no increase", "B"),
        (("B cell", "T cell", "NK cell", "Mast cell"), "B cell", "A"),
        (("T cell", "NK cell", "Mast cell", "B cell"), "The answer is B cell.", "D"),
        (("Mast cell", "Plasma", "NK cell", "B cell"), "Answer: B cell", "D"),
        (("D. It should be x", "E. No change", "B. foo", "C. It is y"), "E. No change", "B"),
        (("A. It should be x", "B. No change", "D. foo", "E. It is y"), "D. foo", "C"),
        (("A. It should be x", "B. No change", "D. foo", "E. It is y"), "D", "D"),
        (("A. It should be x", "B. No change", "D. foo", "E. It is y"), "C. D. foo", "C"),
        (("K", "Na", "Ca", "Cl"), "K", "A"),
        (("K", "Na", "Ca", "Cl"), "The answer is Na.", "B"),
        (("5 cm", "10 cm", "15 cm", "50 cm"), "5 cm", "A"),
        (("5 cm", "10 cm", "15 cm", "50 cm"), "15cm", "C"),
        (("5 cm", "10 cm", "15 cm", "50 cm"), "The length is 50 cm.", "D"),
        (("5 cm", "10 cm", "15 cm", "50 cm"), "The length is 0.1 m", "B"),
        (("Cannot be determined", "increases", "decreases"), "It cannot be determined.", "A"),
        (("Cannot be determined", "increases", "decreases"), "The pressure increases.", "B"),
        (CURRENTS, "The current is 5 A", "C"),
        (CURRENTS, "5 A", "C"),
        (CURRENTS, "The answer is 20 V.", "B"),
        (CURRENTS, "A current of 2 A flows", "D"),
        (CURRENTS, "I = 2 A", "D"),
        (CURRENTS, "V = 10 V", "A"),
        (CURRENTS, "C. 5 A", "C"),
        (SHUFFLED, "Answer: C", "C"),
        (SHUFFLED, "C", "C"),
        (SHUFFLED, "B. C", "B"),
        (SHUFFLED, "Answer: C. B", "C"),
        (("x", "x^2", "2x", "x/2"), "The answer is $x^2$.", "B"),
        (("x", "x^2", "2x", "x/2"), "$\\frac{x}{2}$", "D"),
        (("1/2", "1/4", "3/4", "1"), "$\\frac{3}{4}$", "C"),
        (("1/2", "1/4", "3/4", "1"), "0.25", "B"),
        (("1/2", "1/4", "3/4", "1"), "The probability is \\(\\frac{1}{2}\\).", "A"),
        (("Aa", "AA", "aa"), "aa", "C"),
        (("Aa", "AA", "aa"), "The answer is AA", "B"),
        (("Aa", "AA", "aa"), "Aa", "A"),
        (("Aa", "AA", "aa"), "B. AA", "B"),
        (("same", "same", "different"), "B. same", "B"),
        (("same", "same", "different"), "Answer: different", "C"),
        (("5", "15", "25", "50"), "The total is 15.", "B"),
        (("5", "15", "25", "50"), "15.", "B"),
        (("5", "15", "25", "50"), "it equals 25", "C"),
        (("1.5", "2.5", "3.5"), "2.5", "B"),
        (("1.5", "2.5", "3.5"), "2.50", "B"),
        (("True", "False"), "true", "A"),
        (("Yes", "No"), "Yes, because it is.", "A"),
        (("Yes", "No"), "The answer is no.", "B"),
        (("Monet", "Manet", "Degas", "Renoir"), "Painted by Claude Monet.", "A"),
        (("Monet", "Manet", "Degas", "Renoir"), "Monet, not Manet", "A"),
        (("left", "right"), "right", "B"),
        (("increase", "decrease", "no change"), "It will decrease.", "B"),
        (("increase", "decrease", "no change"), "There is no change.", "C"),
        (("increase", "decrease", "no change"), "no change", "C"),
    ],
)
def test_option_texts_are_matched_whole_as_texts_and_as_numbers(options, reply, letter):
    assert read(options, reply) == letter


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (PROCESSES, "选项A看起来合理，但只有选项C是正确的。", "C"),
        (PROCESSES, "答案是C", "C"),
        (PROCESSES, "答案：C", "C"),
        (PROCESSES, "因此，正确答案是 B。", "B"),
        (PROCESSES, "故选D。", "D"),
        (PROCESSES, "选B", "B"),
        (PROCESSES, "排除A、B、D，选C。", "C"),
        (PROCESSES, "答案不是B，而是C。", "C"),
        (PROCESSES, "我认为应该选择（C）", "C"),
        (PROCESSES, "A错误，B正确，C错误，D错误", "B"),
        (PROCESSES, "本题选C，因为A不对", "C"),
        (PROCESSES, "正解はCです", "C"),
        (PROCESSES, "答えはB。", "B"),
        (PROCESSES, "정답은 C입니다.", "C"),
        (PROCESSES, "La respuesta correcta es la B.", "B"),
        (PROCESSES, "La réponse est C.", "C"),
        (PROCESSES, "Die richtige Antwort ist D.", "D"),
        (PROCESSES, "A resposta correta é B.", "B"),
        (PROCESSES, "Ответ: C", "C"),
        (PROCESSES, "答案：（Ｂ）", "B"),
        (PROCESSES, "C。", "C"),
        (PROCESSES, "C、", "C"),
        (PROCESSES, "选项C", "C"),
        (PROCESSES, "C选项", "C"),
        (PROCESSES, "【C】", "C"),
        (PROCESSES, "答：C", "C"),
        (PROCESSES, "【答案】C", "C"),
        (PROCESSES, "答案为：C。因为A不正确。", "C"),
        (PROCESSES, "正确答案应该是D", "D"),
        (PROCESSES, "应选C项", "C"),
        (PROCESSES, "所以答案选B", "B"),
        (PROCESSES, "我选择 A", "A"),
        (PROCESSES, "不选A，选D", "D"),
        (PROCESSES, "A和B都不对", None),
        (PROCESSES, "答案是A或B", None),
        (PROCESSES, "选项B正确，选项A错误", "B"),
        (PROCESSES, "B是正确的", "B"),
        (PROCESSES, "B 是正确答案", "B"),
        (PROCESSES, "B正确", "B"),
        (PROCESSES, "C不正确", None),
        (PROCESSES, "无法确定答案", None),
        (PROCESSES, "抱歉，我无法查看图片。", None),
    ],
)
def test_statements_in_other_languages_are_read(options, reply, letter):
    assert read(options, reply) == letter


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (PROCESSES, "<think>maybe (A)</think> (C)", "C"),
        (PROCESSES, "it could be A ... </think> C", "C"),
        (PROCESSES, "<think> so it is B", None),
        (PROCESSES, "<think>The answer is B</think>", None),
        (PROCESSES, "<|channel|>analysis<|message|>maybe A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
        (PROCESSES, "◁think▷A◁/think▷B", "B"),
        (PROCESSES, "[THINK]A[/THINK]B", "B"),
        (PROCESSES, "<think>\nA?\n</think>\n\nThe answer is B.", "B"),
        (PROCESSES, "<thinking>A</thinking>B", "B"),
        (PROCESSES, "<think></think>B", "B"),
        (PROCESSES, "<think>A</think>", None),
        (PROCESSES, "B<think>or is it C", None),
        (PROCESSES, "</think>B", "B"),
        (PROCESSES, "<think>Answer: A</think>\nAnswer: C", "C"),
    ],
)
def test_thinking_is_never_graded(options, reply, letter):
    assert read(options, reply) == letter


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (PROCESSES, '{"answer": "B"}', "B"),
        (PROCESSES, '{"reasoning": "The answer is A at first", "answer": "C"}', "C"),
        (PROCESSES, '{"answer": "C", "reasoning": "A is wrong. The answer is A? no"}', "C"),
        (PROCESSES, '```json\n{"answer": "(B) photosynthesis"}\n```', "B"),
        (PROCESSES, "{'answer': 'B'}", "B"),
        (PROCESSES, '{"answer": ["A","B"]}', None),
        (PROCESSES, '{"answer": null}', None),
        (PROCESSES, '{"choice": "D", "confidence": 0.9}', "D"),
        (PROCESSES, '{"answer": "photosynthesis"}', "B"),
        (PROCESSES, '{"A": 0.1, "B": 0.7, "C": 0.1, "D": 0.1}', None),
        (PROCESSES, '{"final_answer": {"letter": "B"}}', "B"),
        (PROCESSES, '{"answer": "B", "explanation": "because', "B"),
        (PROCESSES, "<answer>B</answer>", "B"),
        (PROCESSES, "<answer>\nB. photosynthesis\n</answer>", "B"),
        (PROCESSES, "<answer>The answer is C</answer>", "C"),
        (PROCESSES, "<reasoning>A is right</reasoning><answer>D</answer>", "D"),
        (PROCESSES, "<final_answer>b</final_answer>", "B"),
        (PROCESSES, "<answer>B", "B"),
        (PROCESSES, "<answer>A</answer>\nWait.\n<answer>C</answer>", "C"),
        (PROCESSES, "<ANSWER>c</ANSWER>", "C"),
        (PROCESSES, "<option>C</option>", "C"),
        (PROCESSES, "<answer></answer>", None),
        (PROCESSES, "<answer>I don't know</answer>", None),
        (PROCESSES, "<answer>A or B</answer>", None),
        (PROCESSES, '{"answer":"b"}', "B"),
        (PROCESSES, '{"Answer": "B. photosynthesis"}', "B"),
        (PROCESSES, '{"final answer": "B"}', "B"),
        (PROCESSES, '{"answer": {"option": "B", "text": "photosynthesis"}}', "B"),
        (PROCESSES, 'Here is my answer: {"answer": "B"}', "B"),
        (PROCESSES, '```\n{"answer": "B"}\n```\nHope this helps', "B"),
        (PROCESSES, '{"explanation": "Not A", "correct_option": "D"}', "D"),
        (PROCESSES, '{"answer": "A or B"}', None),
        (PROCESSES, '[{"answer": "B"}]', "B"),
        (PROCESSES, '{"answer": "Option B"}', "B"),
        (PROCESSES, '{"answer": 2}', None),
        (PROCESSES, '{"answer": true}', None),
        (PROCESSES, '{"response": "The answer is B."}', "B"),
        (PROCESSES, '{"rationale": "A \\"B\\" C", "answer": "C"}', "C"),
    ],
)
def test_json_and_tags_are_read_by_their_answer_field(options, reply, letter):
    assert read(options, reply) == letter
