"""Replies to multiple-choice questions that state their answer."""

import pytest

from ttc.answers import extract
from ttc.records import Question

PROCESSES = ("glycolysis", "photosynthesis", "transcription", "translation")
PHYSICS = (
    "Alpha decay",
    "Beta decay",
    "Compton",
    "Doppler",
    "Electron",
    "Fission",
    "Glycolysis in Golgi",
    "Halo",
    "Ion",
    "None of the above",
)


def read(options: tuple[str, ...], reply: str) -> str | None:
    return extract(Question("q", "mmmu", "multiple-choice", "?", options), reply).value


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (PROCESSES, "Let me look.\n\nAnswer: B", "B"),
        (PHYSICS, "ANSWER: None of the above", "J"),
        (PHYSICS, "The answer is C because I computed the integral.", "C"),
        (PROCESSES, "...\nAnswer: $B", "B"),
        (PROCESSES, "(B) one half. Option (A) would need two carriers.", "B"),
        (PROCESSES, "The answer cannot be A or B, so it must be C.", "C"),
        (PROCESSES, "I think the answer is photosynthesis.", "B"),
        (PROCESSES, "A. glycolysis\nB. photosynthesis\nC. transcription\nD. translation\n\nC", "C"),
        (PROCESSES, "A. glycolysis\nB. photosynthesis\nC. transcription\nD. translation\nAnswer: B", "B"),
        (PROCESSES, "A ✗\nB ✓\nC ✗\nD ✗", "B"),
        (PROCESSES, "I would go with option C.", "C"),
        (PROCESSES, "So the correct option would be (C).", "C"),
        (PROCESSES, "Hence option B is correct.", "B"),
        (PROCESSES, "Therefore, the correct answer is option **B**: photosynthesis.", "B"),
        (PROCESSES, "B is the correct answer.", "B"),
        (PROCESSES, "This corresponds to option B.", "B"),
        (PROCESSES, "The best answer is (B) photosynthesis since plants do it.", "B"),
        (PROCESSES, "The only option that fits is B.", "B"),
        (PROCESSES, "Among these, B is the most likely.", "B"),
        (PROCESSES, "The most appropriate choice: B", "B"),
        (PROCESSES, "### Answer\nB", "B"),
        (PROCESSES, "**Final Answer**\n\n**B. photosynthesis**", "B"),
        (PROCESSES, "Answer\n\nC", "C"),
        (PROCESSES, "If the answer is A, then plants die. So the answer is B.", "B"),
        (PROCESSES, "Is the answer A? No. The answer is B.", "B"),
        (PROCESSES, "B, since A is a distractor", "B"),
        (PROCESSES, "Answer: B\n\nExplanation: A is the breakdown of glucose.", "B"),
        (PROCESSES, "Answer: B. Option C describes RNA. Option D describes proteins.", "B"),
        (PHYSICS, "Answer: I think it is C", "C"),
        (PROCESSES, "Sorry for the confusion. The answer is B.", "B"),
        (PROCESSES, "The answer is: \n\n(C) transcription", "C"),
        (PROCESSES, "The correct answer is:\n\n**C**", "C"),
        (PROCESSES, "Based on the image, the correct choice is option:\nD", "D"),
        (PROCESSES, 'The answer is "photosynthesis".', "B"),
        (PROCESSES, "The answer is B (photosynthesis).", "B"),
        (PROCESSES, "The answer is photosynthesis (B).", "B"),
        (PROCESSES, "photosynthesis (option B)", "B"),
        (PROCESSES, "The remaining option is C.", "C"),
        (PROCESSES, "The answer is clearly B", "B"),
        (
            PROCESSES,
            "Question: ...? A) glycolysis B) photosynthesis C) transcription D) translation\nAnswer: D) translation",
            "D",
        ),
        (PROCESSES, "The answer is B. The answer is B.", "B"),
        (PROCESSES, "A. glycolysis. Actually, B. photosynthesis", "B"),
        (PROCESSES, "The answer is option 'C'", "C"),
        (PROCESSES, "Thus the answer would be B, as A requires light.", "B"),
        (PROCESSES, "So the answer to this question is B.", "B"),
        (PROCESSES, "The answer to the question of which process uses light is B.", "B"),
        (PROCESSES, "In summary, option C is the most suitable.", "C"),
        (
            PROCESSES,
            "Let's think step by step.\n\n"
            "1. Option A: glycolysis breaks glucose.\n2. Option B: photosynthesis uses light.\n3. Option C: makes RNA.\n"
            "4. Option D: makes protein.\n\n"
            "Since the picture shows a leaf in light, the process is photosynthesis.\n\nAnswer: B",
            "B",
        ),
        (
            PROCESSES,
            "1. Option A: glycolysis breaks glucose.\n2. Option B: photosynthesis uses light.\n\n"
            "Since the picture shows a leaf in light, the process is photosynthesis.",
            "B",
        ),
        (PROCESSES, "The process depicted is **photosynthesis**, so the correct option is **B**.", "B"),
        (PROCESSES, "The image depicts photosynthesis.", "B"),
        (PROCESSES, "The image depicts a leaf. Therefore it shows photosynthesis, which is option B.", "B"),
        (PROCESSES, "The answer is C. transcription", "C"),
        (PROCESSES, "Answer: C transcription", "C"),
        (PROCESSES, "Final Answer: The final answer is C. I hope it is correct.", "C"),
        (PROCESSES, "Answer: B.\n\nConfidence: 90%", "B"),
        (PROCESSES, "Answer: B\nConfidence: A lot", "B"),
        (PROCESSES, "B\n\nConfidence: high", "B"),
        (PROCESSES, "Answer: B\n\n(Note: A would be right if it were dark.)", "B"),
        (PROCESSES, "Answer: B\n\nOption A would be correct if it were dark.", "B"),
        (PROCESSES, "Reasoning: plants.\nAnswer: (B)\n---\nThanks!", "B"),
        (PROCESSES, "The correct letter is B.", "B"),
        (PROCESSES, "Photosynthesis is the answer.", "B"),
        (PROCESSES, "Photosynthesis is correct.", "B"),
        (PROCESSES, "I believe it's photosynthesis because leaves are green.", "B"),
        (PROCESSES, "photosynthesis, because plants need light", "B"),
        (PROCESSES, "It is more likely photosynthesis than glycolysis.", "B"),
        (PROCESSES, "It is impossible to tell from the image, so I'd have to guess: A", "A"),
        (PHYSICS, "I see a halo in the picture, so H.", "H"),
        (PHYSICS, "I believe the answer is J.", "J"),
        (PROCESSES, "The answer is\nB", "B"),
        (PROCESSES, "The answer is\n\n**B**", "B"),
        (PROCESSES, "The correct answer is B) photosynthesis.", "B"),
        (PROCESSES, "The correct answer is: B - photosynthesis", "B"),
        (PROCESSES, "The answer is **(B)**.", "B"),
        (PROCESSES, "The answer is A since B, C and D are false.", "A"),
        (PROCESSES, "Step 1. A leaf is shown.\nStep 2. B", "B"),
        (PROCESSES, "B. Photosynthesis is the process by which plants use light.", "B"),
        (PROCESSES, "B. The picture shows a leaf.", "B"),
        (PROCESSES, "(B) because plants need light", "B"),
        (PROCESSES, "B because plants need light", "B"),
        (PROCESSES, "A because plants need light", "A"),
        (PROCESSES, "A, because plants need light.", "A"),
        (PROCESSES, "B.\nphotosynthesis", "B"),
        (PROCESSES, "B\nphotosynthesis", "B"),
        (PROCESSES, "photosynthesis\n\nB", "B"),
    ],
)
def test_a_stated_answer_is_read_wherever_and_however_it_is_stated(options, reply, letter):
    assert read(options, reply) == letter


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (PROCESSES, "\\boxed{B}", "B"),
        (PROCESSES, "$\\boxed{\\textbf{(B) }photosynthesis}$", "B"),
        (PROCESSES, "The final answer is $\\boxed{\\text{B. photosynthesis}}$.", "B"),
        (PROCESSES, "\\boxed{photosynthesis}", "B"),
        (PROCESSES, "\\boxed{A} no wait, \\boxed{C}", "C"),
        (PROCESSES, "\\(\\boxed{\\mathrm{D}}\\)", "D"),
        (PROCESSES, "\\fbox{B}", "B"),
        (PROCESSES, "<|begin_of_box|>B<|end_of_box|>", "B"),
        (PROCESSES, "The final answer is: $\\boxed{D}$", "D"),
        (PROCESSES, "Therefore the answer is \\[\\boxed{\\text{D}}\\]", "D"),
        (PROCESSES, "**Final Answer: \\boxed{B. photosynthesis}**", "B"),
    ],
)
def test_the_last_box_decides(options, reply, letter):
    assert read(options, reply) == letter
