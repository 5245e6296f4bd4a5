"""Prompts: the words to the byte, the images at their places, the ablations."""

import json
from pathlib import Path

import pytest
import yaml

from ttc.errors import UserError
from ttc.prompts import Example, PromptConfig, render
from ttc.prompts.templates import own
from ttc.records import Clip, Gold, Media, Picture, Prompt, Question, Text


def image(number: int) -> Media:
    return Media("image", number, sha256=f"{number:064x}", data=b"png")


def question(text: str = "What is <image 1>?", options: tuple[str, ...] = ("a", "b"), images: int = 1, **more) -> Question:
    fields = {"id": "q", "benchmark": "mmmu", "question_type": "multiple-choice" if options else "open"} | more
    return Question(text=text, options=options, media=tuple(image(n) for n in range(1, images + 1)), **fields)


def flow(prompt: Prompt) -> list[str | int]:
    """The last turn as text and image numbers, in order."""
    return [part.text if isinstance(part, Text) else part.media.marker for part in prompt.messages[-1].parts]


def words(prompt: Prompt) -> str:
    return "".join(part.text for part in prompt.messages[-1].parts if isinstance(part, Text))


def test_images_stand_at_their_markers_in_question_and_options_repeats_included():
    asked = question("<image 1> then <image 2> then <image 1>", ("<image 3>", "<image 2> small"), images=3)
    rendered = flow(render(asked, style="direct"))
    assert rendered[:6] == [1, " then ", 2, " then ", 1, "\n\n(A) "]
    assert rendered[6:9] == [3, "\n(B) ", 2]
    assert not any("<image" in piece for piece in rendered if isinstance(piece, str))


def test_options_come_once_after_a_question_that_goes_on_beyond_its_image():
    asked = question("Look at <image 1> and say which.", ("one", "two", "three", "four"))
    before, picture, after = flow(render(asked, style="direct"))
    assert (before, picture) == ("Look at ", 1)
    assert str(after).startswith(" and say which.\n\n(A) one\n(B) two\n(C) three\n(D) four\n")
    assert all(str(after).count(option) == 1 for option in ("(A)", "(B)", "(C)", "(D)"))


def test_markers_of_any_spelling_are_found():
    assert [part for part in flow(render(question("<Image_1> and <image  1>"), style="cot")) if part == 1] == [1, 1]


def test_a_marker_without_an_image_becomes_a_picture_with_a_problem_that_names_the_row():
    [picture] = render(question("See <image 9>", images=0), style="direct").media_parts
    assert "q refers to <image 9>" in picture.media.problem


def test_a_video_comes_before_the_text_with_the_configured_frames():
    video = Media("video", 0, sha256="ff", path=Path("clip.mp4"))
    asked = Question("v", "mmvu", "open", "What happens?", media=(video,))
    config = PromptConfig.model_validate({"frames": {"frames": 8}, "max_pixels": 1000})
    first = render(asked, style="cot", config=config).messages[0].parts[0]
    assert isinstance(first, Clip)
    assert (first.rule.frames, first.max_pixels) == (8, 1000)


def test_the_vision_setting_asks_from_the_image_alone():
    asked = Question("p", "mmmu_pro", "multiple-choice", "", ("a", "b"), (image(0),))
    parts = render(asked, style="direct").messages[0].parts
    assert isinstance(parts[0], Picture)
    assert "Answer: X" in words(render(asked, style="direct"))
    with pytest.raises(UserError, match="p: its text is drawn in its image"):
        render(asked, style="direct", config=PromptConfig(vision="none"))


def test_braces_and_placeholders_inside_a_question_are_left_alone():
    asked = question(r"Set {question} \frac{1}{2} {options}", ("{question}", "{0}"), images=0)
    text = words(render(asked, style="direct"))
    assert text.startswith("Set {question} \\frac{1}{2} {options}\n\n(A) {question}\n(B) {0}\n")


@pytest.mark.parametrize("benchmark", ["mmmu", "mmmu_pro", "mmvu", "anything else"])
@pytest.mark.parametrize("style", ["direct", "cot"])
@pytest.mark.parametrize("options", [("yes", "no"), ()])
def test_every_shipped_prompt_states_the_closing_form(benchmark: str, style: str, options: tuple[str, ...]):
    text = words(render(question("Is it?", options, images=0, benchmark=benchmark), style=style))
    assert '"Answer: X"' in text
    assert ("(B) no" in text or "B. no" in text) == bool(options)


def test_every_shipped_file_says_who_wrote_it():
    assert all(own(name)[1].source for name in ("mmmu", "mmmu_pro", "mmvu", "generic"))


def test_twelve_options_get_letters_to_l():
    assert "(L) o11" in words(render(question("Which?", tuple(f"o{i}" for i in range(12)), images=0), style="direct"))


OFFICIAL_ROW = question("Name {it}: <image 2> or <image 1> $x$?", ("<image 1>", "two {2}"), images=2)


def test_mmmu_renders_to_the_byte_with_single_newlines(shared: Path):
    file = shared / "data/prompts/mmmu.yaml"
    released = yaml.safe_load(file.read_text())
    choose, short = (released[key][0].splitlines()[-1] for key in ("multi_choice_example_format", "short_ans_example_format"))
    config = PromptConfig(official=file)
    assert flow(render(OFFICIAL_ROW, style="direct", config=config)) == [
        *(2, 1, 1),
        f"Name {{it}}: <image 2> or <image 1> $x$?\n(A) <image 1>\n(B) two {{2}}\n\n{choose}",
    ]
    assert words(render(question("Why?", (), images=0), style="direct", config=config)) == f"Why?\n{short}"


def test_mmmu_pro_renders_to_the_byte_with_images_after_the_text(shared: Path):
    file = shared / "data/prompts/mmmu_pro.yaml"
    released = yaml.safe_load(file.read_text())
    config = PromptConfig(official=file)
    assert flow(render(OFFICIAL_ROW, style="direct", config=config)) == [
        f"Name {{it}}: <image> or <image> $x$?\nA. <image>\nB. two {{2}}\n{released['direct']['standard']}",
        *(2, 1, 1),
    ]
    vision = Question("p", "mmmu_pro", "multiple-choice", "", ("a", "b"), (image(0),))
    assert flow(render(vision, style="cot", config=config)) == [released["cot"]["vision"], 0]


def test_mmvu_renders_to_the_byte_with_frames_before_the_text(shared: Path):
    file = shared / "data/prompts/mmvu.json"
    instruction = json.loads(file.read_text())["multi_choice_cot_prompt"].split("\n\n", 1)[1].replace("$$", "$")
    asked = Question("v", "mmvu", "multiple-choice", " Costs $5?", ("x", "y"), (Media("video", 0, "ff", path=Path("v.mp4")),))
    assert flow(render(asked, style="cot", config=PromptConfig(official=file))) == [
        0,
        f"\nQuestion:  Costs $5?\nA: x\nB: y\n\n{instruction}",
    ]


def test_real_rows_render_in_every_official_form_with_each_reference_sent(shared: Path):
    rows = [json.loads(line) for line in (shared / "data/mmmu_pro/sample.jsonl").read_text().splitlines()]
    music = next(row for row in rows if "image_5" in row)
    asked = question(music["question"], tuple(music["options"]), images=5)
    for name in ("mmmu.yaml", "mmmu_pro.yaml", "mmvu.json"):
        parts = render(asked, style="direct", config=PromptConfig(official=shared / "data/prompts" / name)).media_parts
        assert [part.media.marker for part in parts] == [1, 4, 2, 5, 3]


def test_few_shot_turns_hold_their_images_in_order():
    examples = [
        Example(
            question(f"See <image {n}>.", images=3, id=f"dev_{n}", fields={"subject": subject}),
            Gold(f"dev_{n}", ("B",), explanation="Because."),
        )
        for n, subject in enumerate(["Art", "Math", "Math"], 1)
    ]
    asked = question(fields={"subject": "Math"})
    prompt = render(asked, style="cot", config=PromptConfig(shots=2), examples=examples)
    assert [message.role for message in prompt.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert [part.media.marker for part in prompt.media_parts] == [2, 3, 1]
    assert prompt.messages[1].parts == (Text("Because.\n\nAnswer: B"),)


def test_a_question_is_never_its_own_example():
    example = Example(question(), Gold("q", ("A",)))
    with pytest.raises(UserError, match="1 examples wanted for question q, 0 at hand"):
        render(question(), style="cot", config=PromptConfig(shots=1), examples=[example])


def test_without_vision_no_picture_and_no_marker_is_left():
    prompt = render(question(), style="direct", config=PromptConfig(vision="none"))
    assert prompt.media_parts == ()
    assert words(prompt).startswith("What is [image 1]?")


def test_captions_take_the_places_of_images(tmp_path: Path):
    file = tmp_path / "captions.json"
    file.write_text(json.dumps({"q": {"1": "a map"}, "whole": "two maps"}))
    config = PromptConfig(captions=file)
    assert words(render(question(), style="direct", config=config)).startswith("What is [image 1: a map]?")
    assert words(render(question(id="whole"), style="direct", config=config)).startswith("[two maps]\n\nWhat is [image 1]?")
    with pytest.raises(UserError, match="no entry for question other"):
        render(question(id="other"), style="direct", config=config)
    with pytest.raises(UserError, match="no text for <image 2>"):
        render(question("<image 1> <image 2>", images=2), style="direct", config=config)


def test_multiple_choice_asked_as_open_shows_no_option():
    prompt = render(question(options=("red", "<image 2>"), images=2), style="cot", config=PromptConfig(options="none"))
    assert "red" not in words(prompt)
    assert len(prompt.media_parts) == 1


def test_the_system_message_comes_first():
    prompt = render(question(), style="direct", config=PromptConfig(system="Be brief."))
    assert (prompt.messages[0].role, prompt.messages[0].parts) == ("system", (Text("Be brief."),))


def test_a_style_that_there_is_not_is_one_clear_line():
    with pytest.raises(UserError, match="no style 'essay'; it has direct, cot"):
        render(question(), style="essay")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (question(options=(), question_type="multiple-choice"), "question q is multiple choice without any option"),
        (question(" ", images=0), "question q has no text"),
    ],
)
def test_a_row_that_cannot_be_asked_is_a_prompt_with_a_problem(asked: Question, problem: str):
    prompt = render(asked, style="cot")
    assert prompt.problem.startswith(problem)
    assert prompt.messages == ()


def test_a_question_that_cannot_be_asked_is_no_example_for_others():
    broken = Example(question(id="broken", options=(), question_type="multiple-choice"), Gold("broken", ("A",)))
    with pytest.raises(UserError, match="1 examples wanted for question q, 0 at hand"):
        render(question(), style="cot", config=PromptConfig(shots=1), examples=[broken])


@pytest.mark.parametrize(
    ("content", "message"),
    [("a: [", "neither YAML nor JSON"), ("greeting: hello", "its keys are greeting"), (None, "No such file")],
)
def test_a_file_that_is_no_official_prompt_is_one_clear_line(tmp_path: Path, content: str | None, message: str):
    file = tmp_path / "prompts.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UserError, match=message):
        render(question(), style="direct", config=PromptConfig(official=file))


def test_ones_own_templates_are_checked(tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text("source: me\nstyles: {terse: {open: '{question}!', multiple-choice: '{query}'}}\n")
    config = PromptConfig(templates=file)
    assert words(render(question("Why?", (), images=0), style="terse", config=config)) == "Why?!"
    with pytest.raises(UserError, match=r"unknown placeholder \{query\}; use \{question\}, \{options\}"):
        render(question(), style="terse", config=config)
