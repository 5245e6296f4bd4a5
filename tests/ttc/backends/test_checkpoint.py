import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ttc.backends import Transformers
from ttc.backends.checkpoint import Checkpoint
from ttc.backends.folder import WHOLE_BYTES, fingerprint_of, locate
from ttc.errors import UserError


@pytest.fixture
def copy(text_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(text_model, tmp_path / "copy"))


def edit_json(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def flip_last_byte(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def test_backends_are_imported_and_identified_without_torch(text_model: Path):
    code = (
        "import sys; from ttc.backends import Transformers; "
        f"Transformers(model={str(text_model)!r}).identity(); print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_identity_is_the_content_not_the_path_and_not_how_it_is_computed(text_model: Path, copy: Path):
    (copy / "README.md").write_text("a card")
    (copy / "optimizer.pt").write_bytes(b"state")
    elsewhere = Transformers(model=str(copy), batch_tokens=7, attention="eager", device="cpu", threads=2, max_context=9)
    assert elsewhere.identity() == Transformers(model=str(text_model)).identity()


def test_identity_shows_dtype_auto_as_what_it_is(text_model: Path):
    auto, float32, float64 = (
        Checkpoint(model=str(text_model), dtype=dtype).identity() for dtype in ("auto", "float32", "float64")
    )
    assert auto == float32 != float64


def test_dtype_is_read_from_the_weights_where_the_config_is_silent(copy: Path):
    config = json.loads((copy / "config.json").read_text())
    del config["dtype"]
    (copy / "config.json").write_text(json.dumps(config))
    assert Checkpoint(model=str(copy)).number_type() == "float32"


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "chat_template.jinja", "generation_config.json"])
def test_identity_changes_with_any_file_that_matters(copy: Path, name: str):
    before = Checkpoint(model=str(copy)).identity()
    flip_last_byte(copy / name)
    assert Checkpoint(model=str(copy)).identity() != before


def test_identity_changes_with_template_its_arguments_and_pixels(text_model: Path, tmp_path: Path):
    template = tmp_path / "template.jinja"
    template.write_text("{{ messages[0].content }}")
    variants = [
        {},
        {"chat_template": template},
        {"chat_template_args": {"thinking": False}},
        {"max_pixels": 10},
        {"min_pixels": 10},
    ]
    identities = [json.dumps(Checkpoint(model=str(text_model), **fields).identity()) for fields in variants]
    assert len(set(identities)) == len(variants)


def test_large_files_are_told_apart_by_one_changed_block(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(2 * WHOLE_BYTES)
    before = fingerprint_of([path])
    with path.open("r+b") as file:
        file.seek(WHOLE_BYTES)
        file.write(b"\1" * (200 << 10))
    assert fingerprint_of([path]) != before


def test_a_hub_name_stands_for_its_commit_in_the_cache(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from huggingface_hub import constants

    repository, commit = tmp_path / "hub" / "models--org--tiny", "0123456789abcdef0123456789abcdef01234567"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    shutil.copytree(copy, repository / "snapshots" / commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    main, pinned = Checkpoint(model="org/tiny"), Checkpoint(model="org/tiny", revision=commit)
    assert main.identity()["model"] == f"org/tiny@{commit}"
    assert main.identity() == pinned.identity()


def missing_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def adapter_in_its_place(folder: Path) -> None:
    (folder / "config.json").rename(folder / "adapter_config.json")


def missing_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def pickled_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (missing_config, "has no config.json"),
        (broken_config, "is not JSON"),
        (adapter_in_its_place, "give the base model as `model`"),
        (missing_weights, r"has no \*.safetensors; fetch it whole"),
        (pickled_weights, "convert its pickled weights"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(copy: Path, damage, message: str):
    damage(copy)
    with pytest.raises(UserError, match=message) as error:
        Checkpoint(model=str(copy)).identity()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "./nowhere"}, "nowhere does not exist"),
        ({"model": "org/misspelt"}, "neither a folder here nor found on the hub"),
        ({"model": "pocket", "revision": "main"}, "revision"),
        ({"model": "pocket", "adapter": Path("nowhere")}, "no adapter_config.json"),
        ({"model": "pocket", "chat_template": Path("nowhere")}, "is not a file"),
        ({"model": "pocket", "gguf": "small.gguf"}, "has no small.gguf"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_way_out(fields: dict, message: str):
    with pytest.raises(UserError, match=message):
        Checkpoint(**fields).identity()


def test_pocket_is_the_model_in_the_package():
    assert locate("pocket").folder.parts[-3:] == ("ttc", "pocket", "model")


def test_a_gguf_file_without_the_package_that_reads_it_is_refused_in_one_line(copy: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (copy / "small.gguf").write_bytes(b"GGUF")
    with pytest.raises(UserError, match=r"small\.gguf takes the package gguf; install the extra `gguf`"):
        Checkpoint(model=str(copy), gguf="small.gguf").shape()


@pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="the package gguf is not installed")
def test_a_file_that_is_no_gguf_is_refused_in_one_line(copy: Path):
    (copy / "small.gguf").write_bytes(b"no such form, and long enough to hold a header")
    with pytest.raises(UserError, match=r"small\.gguf does not load: "):
        Checkpoint(model=str(copy), gguf="small.gguf").shape()


def test_weights_that_lack_a_tensor_are_refused_rather_than_filled_at_random(copy: Path):
    from safetensors.torch import load_file, save_file

    tensors = load_file(copy / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lack 1 tensors, model.layers.1.mlp.up_proj.weight"):
        Transformers(model=str(copy)).open()


def test_weights_that_are_cut_off_are_refused_in_one_line(copy: Path):
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[:1000])
    with pytest.raises(UserError, match=r"does not load: .*deserializing header"):
        Transformers(model=str(copy)).open()


def test_a_model_without_chat_template_is_refused_and_a_file_makes_up_for_it(copy: Path, tmp_path: Path):
    (copy / "chat_template.jinja").rename(tmp_path / "mine.jinja")
    with pytest.raises(UserError, match="has no chat template; give a file with one as `chat_template`"):
        Transformers(model=str(copy)).open()
    Transformers(model=str(copy), chat_template=tmp_path / "mine.jinja").open()


def test_an_unknown_architecture_is_refused(copy: Path):
    edit_json(copy / "config.json", model_type="unheard-of")
    with pytest.raises(UserError, match="does not load: The checkpoint you are trying to load has model type `unheard-of`"):
        Transformers(model=str(copy)).open()


def test_pixels_for_a_processor_that_does_not_know_them_are_refused(vision_model: Path):
    with pytest.raises(UserError, match="max_pixels=100"):
        Transformers(model=str(vision_model), max_pixels=100).open()


def test_a_device_that_is_not_there_is_refused_before_loading(text_model: Path):
    with pytest.raises(UserError, match=r"device=cuda:63: torch sees .* CUDA devices here"):
        Transformers(model=str(text_model), device="cuda:63").open()


def test_float64_with_eager_attention_is_refused_for_it_would_give_nan_where_prompts_are_padded(text_model: Path):
    with pytest.raises(UserError, match="attention=sdpa or dtype=float32"):
        Transformers(model=str(text_model), dtype="float64", attention="eager").open()
