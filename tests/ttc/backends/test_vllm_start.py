"""What can be seen of the vLLM engine without vLLM."""

import multiprocessing
import signal

from ttc.backends.vllm_engine import _deaf_children


def test_a_process_that_is_started_for_the_engine_outlives_ctrl_c():
    spawn = multiprocessing.get_context("spawn")
    with _deaf_children():
        process = spawn.Process(target=signal.raise_signal, args=(signal.SIGINT,))
        process.start()
    process.join()
    assert process.exitcode == 0
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
