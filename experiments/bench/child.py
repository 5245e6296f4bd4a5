"""Run a command; print its seconds, its peak memory in bytes and its exit code as JSON. Run by path, with nothing imported.

A process of its own, because on Linux a child's peak counts from the memory of the process that started it.
"""

import json
import os
import resource
import sys
import time

if __name__ == "__main__":
    start = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - start
    # macOS counts in bytes, Linux in KiB
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "code": os.waitstatus_to_exitcode(status)}))
