"""A worker process of the tests that counts its attempts in a file, and is killed in the first ones, or fails."""

import os
import signal
import sys
from pathlib import Path

from worldloom.learn.experiments.worker_process import serve


def work(request, send):
    file = Path(request["count"])
    attempt = 1 + (int(file.read_text()) if file.exists() else 0)
    file.write_text(str(attempt))
    print(f"attempt {attempt}", file=sys.stderr, flush=True)
    if attempt <= request["kills"]:
        os.kill(os.getpid(), signal.SIGKILL)
    if request.get("fail"):
        sys.exit(3)
    send({"attempt": attempt, "said": request["say"]})


if __name__ == "__main__":
    serve(work)
