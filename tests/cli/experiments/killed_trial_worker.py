"""A worker process of the tests in place of that of a trial: it is killed once, in its third iteration."""

import os
import signal
from pathlib import Path

from worldloom.cli.experiments.job_worker import serve_job
from worldloom.learn.training.callbacks import Callback


class KilledOnce(Callback):
    def __init__(self, folder):
        self.mark = folder.with_suffix(".killed")

    def on_iteration(self, trainer, progress):
        if not self.mark.exists() and progress.iteration == 3:
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def load():
    from worldloom.learn.experiments.sweep.trial_job import train_trial

    def train(message, callbacks):
        return train_trial(message, [*callbacks, KilledOnce(Path(message["runs"][0]["folder"]))])

    return train


if __name__ == "__main__":
    serve_job(load)
