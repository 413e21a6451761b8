"""Jobs in worker processes: answers, processes that are killed, and those that fail."""

import time
from pathlib import Path

import pytest

from worldloom.learn.experiments.jobs.executor import DIED, MAX_RESTARTS
from worldloom.learn.experiments.jobs.process_jobs import Processes


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs one message in a worker; returns the answer, and the restarts with their reasons."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))

    def run_job(**message):
        restarts = []
        with Processes(
            "fragile_worker",
            1,
            lambda key: tmp_path / f"{key}.log",
            on_restart=lambda key, how: restarts.append((key, how)),
        ) as processes:
            processes.start(5, {"count": str(tmp_path / "count"), **message})
            assert not processes.is_free() and processes.is_busy()
            deadline = time.monotonic() + 300
            while not (answers := processes.wait()) and time.monotonic() < deadline:
                pass
            assert processes.is_free() and not processes.is_busy()
        ((key, answer),) = answers
        assert key == 5
        return answer, restarts

    return run_job


def test_a_job_whose_process_is_killed_starts_again(run, tmp_path):
    answer, restarts = run(kills=2, say="hello")
    assert answer == {"attempt": 3, "said": "hello"}
    log = tmp_path / "5.log"
    assert restarts == [(5, f"its process was killed by SIGKILL: attempt {n} (see {log})") for n in (1, 2)]


def test_a_job_that_is_killed_every_time_has_died(run, tmp_path):
    answer, restarts = run(kills=100, say="")
    assert len(restarts) == MAX_RESTARTS
    assert answer[DIED] == (
        f"its process was killed by SIGKILL: attempt {MAX_RESTARTS + 1} (see {tmp_path / '5.log'}), "
        f"{MAX_RESTARTS + 1} times"
    )


def test_a_job_that_fails_does_not_start_again(run):
    answer, restarts = run(kills=0, fail=True)
    assert restarts == [] and "its process exited with code 3: attempt 1" in answer[DIED]
