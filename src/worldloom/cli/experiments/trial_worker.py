"""The process of one trial, where trials are trained side by side."""

from __future__ import annotations

from worldloom.learn.experiments.worker_process import Message, Send, serve


def work(message: Message, send: Send) -> None:
    """Train the trial of a message, and send its answer; nothing where the training was aborted."""
    from worldloom.cli.training.stop_on_signal import StopOnSignal, TrainingAborted
    from worldloom.learn.experiments.sweep.trial_job import train_trial

    stopping = StopOnSignal()
    try:
        with stopping:
            answer = train_trial(message, [stopping])
        send(answer)
    except TrainingAborted:  # after SIGTERM; the last checkpoint is kept
        pass


if __name__ == "__main__":
    serve(work)
