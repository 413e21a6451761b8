"""The process of one member and generation, where members are trained side by side."""

from __future__ import annotations

from worldloom.learn.experiments.worker_process import Message, Send, serve


def work(message: Message, send: Send) -> None:
    """Train the member of a message, and send its answer; nothing where the training was aborted."""
    from worldloom.cli.training.stop_on_signal import StopOnSignal, TrainingAborted
    from worldloom.core.base.errors import WorldloomError
    from worldloom.learn.experiments.jobs.executor import DIED
    from worldloom.learn.experiments.population.member_job import train_member

    stopping = StopOnSignal()
    try:
        with stopping:
            answer = train_member(message, [stopping])
        send(answer)
    except WorldloomError as error:
        send({DIED: str(error)})
    except TrainingAborted:  # after SIGTERM; the last checkpoint is kept
        pass


if __name__ == "__main__":
    serve(work)
