"""The process of one member and generation, where members are trained side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldloom.cli.experiments.job_worker import serve_job

if TYPE_CHECKING:
    from worldloom.learn.experiments.jobs.executor import Work


def load() -> Work:
    from worldloom.learn.experiments.population.member_job import train_member

    return train_member


if __name__ == "__main__":
    serve_job(load)
