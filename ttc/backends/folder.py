"""Where a model lies and what it is: a folder here or a name on the hub, and a fingerprint of its content. Needs no torch."""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from ttc.errors import UserError

POCKET = "pocket"
"""Name of the model that is shipped with the package."""

WHOLE_BYTES = 64 << 20
"""Files up to this size are hashed whole, larger ones by their size and blocks spread over them."""
_BLOCK_BYTES = 64 << 10
_BLOCKS = 1024

_MATTERS = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "*.model",
    "preprocessor_config.json",
    "processor_config.json",
    "image_processor_config.json",
    "chat_template.json",
    "*.jinja",
    "adapter_config.json",
    "*.safetensors",
)
"""Files of a model folder that determine what the model says; cards, logs and optimiser states do not."""

_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class Location:
    """A model that was found."""

    name: str
    """What `from_pretrained` is given: a folder, or a name on the hub."""
    folder: Path
    """The folder, or the hub's local snapshot, which may hold the config alone until the model is opened."""
    commit: str = ""
    """The hub's commit; empty for a folder."""

    @property
    def arguments(self) -> dict[str, str]:
        """Keyword arguments for `from_pretrained` that pin the commit."""
        return {"revision": self.commit} if self.commit else {}


def locate(model: str, revision: str | None = None, file: str = "config.json") -> Location:
    """Find a model: `pocket`, a folder, or a hub name, of which only `file` is fetched.

    Raises:
        UserError: there is no such folder, or the hub (or its local cache, when offline) has no such name.
    """
    folder = _shipped() if model == POCKET else Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise UserError(f"model {model}: a folder has no revision {revision!r}; leave revision out or give a hub name")
        if not (folder / file).is_file():
            raise UserError(f"model folder {folder} has no {file}; {_hint(folder)}")
        return Location(str(folder), folder)
    if model == POCKET or model.startswith(("/", ".", "~")) or model.count("/") > 1:
        raise UserError(f"model folder {folder} does not exist; check the path or give a name on the hub")
    return _on_hub(model, revision, file)


def _shipped() -> Path:
    return Path(str(resources.files("ttc.pocket") / "model"))


def _hint(folder: Path) -> str:
    if (folder / "adapter_config.json").is_file():
        return "it holds an adapter: give the base model as `model` and this folder as `adapter`"
    return "give the folder that `save_pretrained` wrote"


def _on_hub(model: str, revision: str | None, file: str) -> Location:
    # a snapshot of the one file, because `hf_hub_download` tries again for half a minute where there is no network
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    where = model if revision is None else f"{model} at revision {revision!r}"
    try:
        folder = Path(snapshot_download(model, revision=revision, allow_patterns=[file]))
    except (OSError, HFValidationError) as error:
        raise UserError(
            f"model {where}: neither a folder here nor found on the hub ({type(error).__name__}); check the spelling, "
            "go online once to fetch it, or give a folder"
        ) from error
    if not (folder / file).is_file():
        raise UserError(f"model {where} has no {file} on the hub; check the name")
    return Location(model, folder, commit=folder.name)


def config_of(location: Location) -> Mapping[str, object]:
    """The content of the model's config.json.

    Raises:
        UserError: it is not JSON.
    """
    path = location.folder / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON: {error}; fetch or save the model again") from error


def checkpoint_dtype(location: Location) -> str:
    """Name of the type that the weights are stored in: what the config says, else what the first weight file holds.

    Raises:
        UserError: neither says.
    """
    config = config_of(location)
    for section in (config, config.get("text_config")):
        if isinstance(section, Mapping) and (dtype := section.get("dtype") or section.get("torch_dtype")):
            return str(dtype)
    for path in sorted(location.folder.glob("*.safetensors")):
        with path.open("rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        for tensor in header.values():
            if tensor.get("dtype") in _DTYPES:
                return _DTYPES[tensor["dtype"]]
    raise UserError(f"model {location.name}: neither its config nor its weights say their dtype; set dtype")


def fingerprint(folder: Path, weights: str = "*.safetensors", code: bool = False) -> str:
    """Hash of the files that determine what a model says, wherever the folder lies. 64 hex digits.

    Args:
        weights: pattern of the weight files; other weights in the folder do not count.
        code: count Python files too, for models that bring their own.

    Raises:
        UserError: no file matches `weights`.
    """
    if not any(folder.glob(weights)):
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        way_out = "convert its pickled weights with `save_pretrained(safe_serialization=True)`" if pickled else "fetch it whole"
        raise UserError(f"model folder {folder} has no {weights}; {way_out}")
    patterns = {*_MATTERS, weights, *(["*.py"] if code else [])} - ({"*.safetensors"} - {weights})
    return fingerprint_of(path for pattern in patterns for path in folder.glob(pattern))


def fingerprint_of(paths: Iterable[Path]) -> str:
    """Hash of files by name and content, in any order. 64 hex digits."""
    digest = hashlib.sha256()
    for path in sorted(set(paths), key=lambda path: path.name):
        status = path.stat()
        digest.update(f"{path.name} {_file_hash(path, status.st_size, status.st_mtime_ns)}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _file_hash(path: Path, size: int, mtime_ns: int) -> str:
    """Hash of one file; the time of its last change is an argument so that a changed file is read again."""
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        if size <= WHOLE_BYTES:
            digest.update(file.read())
        else:
            for block in range(_BLOCKS):
                file.seek(block * (size - _BLOCK_BYTES) // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK_BYTES))
    return digest.hexdigest()
