"""The process of one trial, where trials are trained side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldloom.cli.experiments.job_worker import serve_job

if TYPE_CHECKING:
    from worldloom.learn.experiments.jobs.executor import Work


def load() -> Work:
    from worldloom.learn.experiments.sweep.trial_job import train_trial

    return train_trial


if __name__ == "__main__":
    serve_job(load)
