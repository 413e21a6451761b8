"""The process of one training, where those of an experiment run side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from worldloom.learn.experiments.worker_process import Message, Send, serve

if TYPE_CHECKING:
    from worldloom.learn.experiments.jobs.executor import Work


def serve_job(load: Callable[[], Work]) -> None:
    """Run a job with the message of the parent, and send its answer; nothing where the training was aborted.

    Args:
        load: Imports the job, once what is printed no longer goes to the parent, and returns it.
    """

    def work(message: Message, send: Send) -> None:
        from worldloom.cli.training.stop_on_signal import StopOnSignal, TrainingAborted

        train, stopping = load(), StopOnSignal()
        try:
            with stopping:
                answer = train(message, [stopping])
            send(answer)
        except TrainingAborted:  # after SIGTERM; the last checkpoint is kept
            pass

    serve(work)
