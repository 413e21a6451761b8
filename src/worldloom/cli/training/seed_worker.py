"""The process of one seed, where seeds are trained side by side: ``python -m worldloom.cli.training.seed_worker``."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from worldloom.learn.experiments.worker_process import Message, Send, serve


def train_seed(message: Message, send: Send) -> None:
    """Train the seed of a message, and send its result or its error; nothing where the training was aborted."""
    from worldloom.cli.training.stop_on_signal import StopOnSignal, TrainingAborted
    from worldloom.core.base.errors import WorldloomError
    from worldloom.learn.experiments.seed_folder import seed_result
    from worldloom.learn.runs.request_message import request_from_message
    from worldloom.learn.runs.training_run import run_training
    from worldloom.learn.tracking.make_trackers import make_trackers

    stopping = StopOnSignal()
    try:
        request = request_from_message(message)
        trackers = make_trackers(**message["tracking"])
        with stopping, ExitStack() as stack:
            for tracker in trackers:
                stack.enter_context(tracker).set_folder(Path(message["folder"]))
            result = run_training(request, [stopping, *trackers])
        send({"result": asdict(seed_result(request, result, finished=stopping.received is None))})
    except WorldloomError as error:
        send({"error": str(error)})
    except TrainingAborted:  # after SIGTERM; the last checkpoint is kept
        pass


if __name__ == "__main__":
    serve(train_seed)
