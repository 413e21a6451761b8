"""A worker process of the tests in place of that of a seed: waits for SIGINT, or is killed where gamma is 0."""

import os
import signal
import threading
from pathlib import Path

from worldloom.learn.experiments.worker_process import serve


def work(message, send):
    config = message["request"]["config"]
    if config["gamma"] == 0.0:
        os.kill(os.getpid(), signal.SIGKILL)
    interrupted = threading.Event()
    signal.signal(signal.SIGINT, lambda number, frame: interrupted.set())
    (Path(message["folder"]).parent / f"ready_{config['seed']}").touch()
    while not interrupted.wait(0.05):
        pass
    send({"result": {"seed": config["seed"], "steps": 100}})


if __name__ == "__main__":
    serve(work)
