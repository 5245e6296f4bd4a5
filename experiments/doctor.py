"""What this machine can do, and what it lacks for which feature."""

import importlib.util
import platform
from importlib.metadata import PackageNotFoundError, distributions, version

from rich.console import Console
from rich.table import Table

NEEDED = {
    "torch": "transformers backend",
    "transformers": "transformers backend",
    "vllm": "vllm backend; install the extra `vllm`, best in an environment of its own",
    "openai": "servers behind an OpenAI-compatible API",
    "datasets": "benchmarks from the hub",
    "av": "video",
    "math_verify": "mathematical equality of open answers",
    "trl": "training of verifiers; install the extra `training`",
    "peft": "adapters; install the extra `training`",
    "wandb": "tracking; install the extra `tracking`",
    "tensorboard": "tracking; install the extra `tensorboard`",
    "starlette": "`ttc serve`; install the extra `serve`",
    "uvicorn": "`ttc serve`; install the extra `serve`",
}


def lacks(backend: str) -> str:
    """That the package of a backend is missing here, and the way out; empty where it is there or none is needed."""
    missing = backend in NEEDED and importlib.util.find_spec(backend) is None
    return f"the package {backend} is not installed: {NEEDED[backend]}" if missing else ""


def examine() -> None:
    """Print the examination."""
    console = Console()
    console.print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    table = Table("package", "version", "for", box=None)
    for package, feature in NEEDED.items():
        table.add_row(package, _version(package), feature)
    console.print(table)
    console.print(f"devices: {_devices()}")
    for clash in clashes():
        console.print(f"[bold]name clash[/bold]: {clash}")


def _version(package: str) -> str:
    if importlib.util.find_spec(package) is None:
        return "missing"
    for name in (package, package.replace("_", "-"), f"{package}-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "present"


def _devices() -> str:
    if importlib.util.find_spec("torch") is None:
        return "unknown, torch is missing"
    import torch

    found = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append("mps")
    return ", ".join([*found, f"cpu with {torch.get_num_threads()} threads"])


def clashes() -> list[str]:
    """Installed distributions that bring a top-level package of ours under another owner."""
    ours = {"ttc", "verifiers", "training", "experiments"}
    found = []
    for distribution in distributions():
        name = distribution.metadata["Name"]
        tops = {str(file).split("/")[0] for file in distribution.files or () if str(file).endswith("/__init__.py")}
        taken = sorted(tops & ours)
        if taken and name != "ttc-lab":
            found.append(f"distribution {name} also installs {', '.join(taken)}; uninstall it, or use another environment")
    return found
