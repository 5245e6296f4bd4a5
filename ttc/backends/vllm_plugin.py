"""What vLLM loads into each of its processes (entry point `vllm.general_plugins`)."""

import os
import signal
import threading
from multiprocessing.process import BaseProcess, parent_process


def end_with_parent() -> None:
    """End this process when the one that started it is gone: a killed run leaves an engine that holds its device for ever."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGKILL)
