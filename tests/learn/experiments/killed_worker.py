"""A worker process of the tests that measures one number of worlds, and is killed while it measures the next."""

import os
import signal

from worldloom.learn.experiments.worker_process import serve


def work(request, send):
    send({"trying": 64})
    send({"num_envs": 64, "steps_per_second": 100.0, "iteration_steps": 64})
    send({"trying": 128})
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(work)
