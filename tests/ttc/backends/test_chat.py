from collections.abc import Callable
from pathlib import Path

import pytest

from ttc.backends.chat import Chat, Rejected
from ttc.backends.checkpoint import Checkpoint
from ttc.errors import UserError
from ttc.records import Message, Prompt, Request, Text

TALK = Prompt(
    (
        Message("system", (Text("answer"),)),
        Message("user", (Text("the sum"), Text(" of 3"))),
        Message("assistant", (Text("3"),)),
        Message("user", (Text("what ?"),)),
    )
)


@pytest.mark.parametrize("adds_bos", [False, True])
def test_the_template_is_applied_once_even_by_a_tokenizer_that_adds_the_first_token_by_itself(
    tokenizer_into: Callable[..., object], tmp_path: Path, adds_bos: bool
):
    tokenizer = tokenizer_into(tmp_path, adds_bos=adds_bos)
    chat = Chat(tokenizer, "tiny")
    ids = chat.encode(TALK, ()).ids
    conversation = [{"role": m.role, "content": "".join(part.text for part in m.parts)} for m in TALK.messages]
    assert list(ids) == tokenizer.apply_chat_template(conversation, add_generation_prompt=True)["input_ids"]
    assert ids.count(tokenizer.bos_token_id) == 1
    assert ids[-1] == tokenizer.convert_tokens_to_ids("<assistant>")
    assert (tokenizer("3").input_ids[0] == tokenizer.bos_token_id) == adds_bos


def test_a_conversation_is_rendered_turn_by_turn_with_each_image_in_its_place(vision_model: Path, ask: Callable[..., Request]):
    chat = Chat.load(Checkpoint(model=str(vision_model)), takes_images=True)
    request = ask("and this", colors=["red"])
    picture = request.prompt.messages[0].parts[0]
    prompt = Prompt(
        (
            Message("user", (Text("the first"), picture, Text("is"))),
            Message("assistant", (Text("3"),)),
            Message("user", (Text("and"), picture, Text("?"))),
        )
    )
    rendered = chat.render(prompt, (*request.images, *request.images))
    assert rendered == "<s><user> the first<image> is<assistant> 3 <end><user> and<image> ?<assistant>"


def test_the_end_of_turn_is_read_off_the_template(tokenizer_into: Callable[..., object], tmp_path: Path):
    tokenizer = tokenizer_into(tmp_path)
    closing = "{% for m in messages %}{{ m.content }}{{ '<user>\\n' if m.role == 'assistant' }}{% endfor %}"
    user, end = tokenizer.convert_tokens_to_ids(["<user>", "<end>"])
    assert Chat(tokenizer, "tiny", closing).end_ids(9) == {9, user, end}
    assert Chat(tokenizer, "tiny", "{% for m in messages %}{{ m.content }} the{% endfor %}").end_ids([8, 9]) == {8, 9, end}


def test_arguments_reach_the_template(tokenizer_into: Callable[..., object], tmp_path: Path):
    template = "{{ 'thinking' if enable_thinking else 'answer' }}"
    rendered = [
        Chat(tokenizer_into(tmp_path), "tiny", template, {"enable_thinking": on}).render(TALK, ()) for on in (True, False)
    ]
    assert rendered == ["thinking", "answer"]


def test_a_template_that_refuses_a_role_is_named(tokenizer_into: Callable[..., object], tmp_path: Path):
    template = "{{ raise_exception('no system role') if messages[0].role == 'system' }}"
    with pytest.raises(UserError, match=r"model tiny refuses a conversation of system, user, assistant, user: no system role"):
        Chat(tokenizer_into(tmp_path), "tiny", template).render(TALK, ())


def test_decoding_after_a_prefix_keeps_the_blank_between_the_words(tokenizer_into: Callable[..., object], tmp_path: Path):
    tokenizer = tokenizer_into(tmp_path)
    ids = tokenizer.encode("the sum <end> is 3")
    chat = Chat(tokenizer, "tiny")
    assert chat.decode(ids) == "the sum is 3"
    assert chat.decode(ids[:2]) + chat.decode(ids[2:], prefix=ids[:2]) == "the sum is 3"


def test_a_processor_that_refuses_an_image_rejects_the_prompt(vision_model: Path, ask: Callable[..., Request]):
    chat = Chat.load(Checkpoint(model=str(vision_model)), takes_images=True)
    two, one = ask("digit ?", colors=["red", "blue"]), ask("digit ?", colors=["red"])
    with pytest.raises(Rejected, match="refuses the images"):
        chat.encode(one.prompt, two.images[:1] + two.images[:1])
