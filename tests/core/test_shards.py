"""CPU threads: slices cover every world once, and all jobs run even if one fails."""

from __future__ import annotations

import itertools
import os
import threading

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.base import shards


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("worlds", [1, 2, 5, 63, 64, 1000, 100_003])
def test_slices_cover_every_world_once(worlds: int, threads: int) -> None:
    slices = shards.slices(worlds, threads)
    assert len(slices) == min(threads, worlds)
    assert slices[0][0] == 0 and slices[-1][1] == worlds
    assert all(before[1] == after[0] for before, after in itertools.pairwise(slices))
    sizes = [end - first for first, end in slices]
    assert max(sizes) - min(sizes) <= 1 and min(sizes) >= 1


def test_small_batches_wake_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert len(shards.slices(shards.MIN_WORLDS, None)) == 1
    assert len(shards.slices(3 * shards.MIN_WORLDS, None)) == 3
    assert len(shards.slices(1_000_000, None)) == 8


@pytest.mark.parametrize(
    ("worlds", "threads", "expected"),
    [(64, 2, 8), (64, 1, 8), (5, 2, 2), (3, 8, 3), (100_000, 2, 2 * shards.MAX_SLICES_PER_THREAD)],
)
def test_heavy_worlds_come_in_small_slices(worlds: int, threads: int, expected: int) -> None:
    slices = shards.slices(worlds, threads, min_worlds=4)
    assert len(slices) == expected and shards.thread_count(worlds, threads, min_worlds=4) == min(threads, worlds)
    assert slices[0][0] == 0 and slices[-1][1] == worlds
    assert all(
        before[1] == after[0] and first < end
        for before, after in itertools.pairwise(slices)
        for first, end in (before, after)
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_more_runs_than_threads_take_turns(threads: int) -> None:
    ran: list[tuple[int, str]] = []
    meeting = threading.Barrier(threads, timeout=300)

    def job(number: int) -> None:
        if number < threads:  # so that each thread has one of the first
            meeting.wait()
        ran.append((number, threading.current_thread().name))

    shards.run_all([lambda n=n: job(n) for n in range(12)], threads)
    assert sorted(number for number, _ in ran) == list(range(12))
    assert len({name for _, name in ran}) == threads


def test_an_error_in_a_turn_comes_out() -> None:
    def fails() -> None:
        raise ValueError("turn")

    with pytest.raises(ValueError, match="turn"):
        shards.run_all([fails, *[lambda: None] * 6], 2)


def test_all_jobs_run_each_in_its_own_thread() -> None:
    ran: dict[int, str] = {}
    meeting = threading.Barrier(3, timeout=300)

    def job(number: int) -> None:
        meeting.wait()
        ran[number] = threading.current_thread().name

    shards.run_all([lambda n=n: job(n) for n in range(3)])
    assert sorted(ran) == [0, 1, 2] and len(set(ran.values())) == 3
    assert ran[0] == threading.current_thread().name


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_comes_out_after_all_have_finished(bad: int) -> None:
    done = []

    def job(number: int) -> None:
        if number == bad:
            raise ValueError(f"job {number}")
        done.append(number)

    with pytest.raises(ValueError, match=f"job {bad}"):
        shards.run_all([lambda n=n: job(n) for n in range(3)])
    assert sorted(done) == [n for n in range(3) if n != bad]
    shards.run_all([lambda: done.append(7), lambda: done.append(8)])
    assert {7, 8} <= set(done), "the threads live on"


def test_threads_are_shared_by_all_simulations(race: wl.Definition) -> None:
    stay = np.zeros((30, 2), np.int32)
    wl.Simulation(race, 30, "cpu", seed=0, threads=4).step(stay)
    before = threading.active_count()
    sims = [wl.Simulation(race, 30, "cpu", seed=0, threads=4) for _ in range(5)]
    for sim in sims:
        sim.step(stay)
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    shards.run_all([lambda: None, lambda: None])
    child = os.fork()
    if child == 0:
        done: list[int] = []
        shards.run_all([lambda: done.append(1), lambda: done.append(2)])
        os._exit(0 if sorted(done) == [1, 2] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
