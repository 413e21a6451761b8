"""Failing workers, and interrupted or killed programs: a report, a usable pool, and no process left."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pool_envs import EXIT, FINE, HANG, KILL, RAISE, STOP, Moody
from thorough import sample

import worldloom as wl
from worldloom.vector.process_pool import ProcessPool, WorkerError

pytestmark = pytest.mark.timeout(60)


def running(pid: int) -> bool:
    """Whether a process is running; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pids: Any, within: float = 60.0) -> bool:
    """Whether all processes exit within so many seconds."""
    deadline = time.monotonic() + within
    while any(running(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def named_memory(*pids: int) -> set[str]:
    """The files of /dev/shm that processes hold; a listing would also show those of other programs."""
    maps = [
        line.split(maxsplit=5)[-1].strip()
        for pid in pids
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
    ]
    opened = [os.readlink(link) for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return {path for path in maps + opened if path.startswith("/dev/shm/")}


PROGRAMS: list[subprocess.Popen[str]] = []
"""The programs that the current test has started."""


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """A test leaves no shared memory, file descriptors or child processes."""

    def traces() -> tuple[set[str], int, str]:
        gc.collect()
        return (
            named_memory(os.getpid()),
            len(os.listdir("/proc/self/fd")),
            Path(f"/proc/self/task/{os.getpid()}/children").read_text(),
        )

    before = traces()
    yield
    while PROGRAMS:  # of a test that failed
        with PROGRAMS.pop() as program:
            program.kill()
    assert traces() == before


def pool_of(num_envs: int = 4, **options: Any) -> ProcessPool:
    return ProcessPool(Moody, num_envs, **{"num_workers": 2, "seed": 0, "timeout": 1.0, **options})


def actions(mood: int, env_id: int, count: int = 4) -> np.ndarray:
    chosen = np.full(count, FINE)
    chosen[env_id] = mood
    return chosen


FAILURES = (
    (
        RAISE,
        "raised",
        r"^environment 2 raised when it was stepped: ValueError: out of sorts; "
        r"a new worker has taken over and has reset environments 2 to 3\n",
    ),
    (
        KILL,
        "ended",
        r"^the worker of environments 2 to 3 was killed by SIGKILL while it worked on environment 2; a new worker",
    ),
    (
        EXIT,
        "ended",
        r"^the worker of environments 2 to 3 exited with code 3 while it worked on environment 2; a new worker",
    ),
    (HANG, "hung", r"^environment 2 did not respond within 1 s; a new worker"),
    (STOP, "hung", r"^environment 2 did not respond within 1 s; a new worker"),
)
"""What an environment does, the reason of its fault, and what is reported."""


def test_failing_workers_are_reported_and_replaced():
    """One pool survives all failures: an environment raises, is killed, leaves, hangs, and is stopped."""
    pool = pool_of(autoreset="same_step")
    try:
        for mood, reason, words in FAILURES:
            pool.reset(seed=1)
            pool.step(actions(FINE, 0))
            pids = pool.get_attr("pid")
            with pytest.raises(WorkerError, match=words) as caught:
                pool.step(actions(mood, 2))
            fault = caught.value.faults[0]
            assert isinstance(caught.value, wl.WorldloomError) and caught.value.env_id == 2
            assert (fault.reason, fault.env_id, fault.env_ids) == (reason, 2, (2, 3))
            assert ('raise ValueError("out of sorts")' in str(caught.value)) == (mood == RAISE)

            # What the others did is not lost, and the learner sees that two episodes were cut.
            observations, rewards, terminations, truncations, infos = pool.recv()
            assert observations[:, 0].tolist() == [2.0, 2.0, 0.0, 0.0] and rewards.tolist() == [1.0, 1.0, 0.0, 0.0]
            assert (
                truncations.tolist()
                == infos["restarted"].tolist()
                == infos["_final_obs"].tolist()
                == [False, False, True, True]
            )
            assert infos["final_obs"][2][0] == 1.0 and not terminations.any()
            assert pool.step(actions(FINE, 0))[0][:, 0].tolist() == [3.0, 3.0, 1.0, 1.0]
            after = pool.get_attr("pid")
            assert after[:2] == pids[:2] and after[2] == after[3] != pids[2] and gone(pids[2:])
            assert pool.reset(seed=1)[0][:, 0].tolist() == [0.0] * 4
    finally:
        pool.close()
    assert gone(after)


def test_stepping_on_after_a_fault_tells_what_was_cut():
    """Without recv() in between, the next step reports the restart, in next-step autoreset too."""
    pool = pool_of()
    try:
        pool.reset()
        with pytest.raises(WorkerError):
            pool.step(actions(RAISE, 0))
        observations, _, _, truncations, infos = pool.step(actions(FINE, 0))
        assert truncations.tolist() == infos["restarted"].tolist() == [True, True, False, False]
        assert observations[:, 0].tolist() == [0.0, 0.0, 2.0, 2.0]
        assert pool.step(actions(FINE, 0))[0][:, 0].tolist() == [
            0.0,
            0.0,
            3.0,
            3.0,
        ]  # the step that starts the next episode
        observations, _, _, truncations, infos = pool.step(actions(FINE, 0))
        assert observations[:, 0].tolist() == [1.0, 1.0, 4.0, 4.0] and not truncations.any() and infos == {}
    finally:
        pool.close()


def test_a_worker_killed_between_steps_is_found_by_the_next():
    pool = pool_of()
    try:
        pool.reset()
        os.kill(pool.get_attr("pid")[0], signal.SIGKILL)
        with pytest.raises(WorkerError, match=r"the worker of environments 0 to 1 was killed by SIGKILL; ") as caught:
            pool.step(actions(FINE, 0))
        assert caught.value.env_id is None
        assert pool.recv()[3].tolist() == [True, True, False, False]
    finally:
        pool.close()


def test_all_workers_can_fail_at_once():
    pool = pool_of()
    try:
        pool.reset()
        pids = pool.get_attr("pid")
        with pytest.raises(WorkerError, match=r"^the worker of (.*\n)+the worker of ") as caught:
            pool.step(np.full(4, KILL))
        assert sorted(fault.env_ids for fault in caught.value.faults) == [(0, 1), (2, 3)]
        assert pool.recv()[3].all()
        assert not set(pids) & set(pool.get_attr("pid"))
    finally:
        pool.close()


def test_a_fault_in_a_reset_and_in_a_call():
    pool = pool_of()
    try:
        with pytest.raises(
            WorkerError, match=r"raised when it was reset: RuntimeError: no new episode today"
        ) as caught:
            pool.reset(options={"refuse": True})
        assert len(caught.value.faults) == 2
        assert pool.reset(seed=0)[0][:, 0].tolist() == [0.0] * 4
        with pytest.raises(WorkerError, match=r"the worker of environments 2 to 3 did not respond within 1 s"):
            pool.set_attr("age", [0, 0, SlowToArrive(), 0])
        assert pool.step(actions(FINE, 0))[3].tolist() == [False, False, True, True]
    finally:
        pool.close()


class SlowToArrive:
    """Takes longer to unpickle than the pool waits."""

    def __reduce__(self) -> tuple[Callable[[float], None], tuple[float]]:
        return time.sleep, (1000.0,)


def test_a_fault_in_an_asynchronous_pool():
    """The environment in flight is truncated, the other one of its worker at its next step, and no other one."""
    pool = pool_of(6, batch_size=2, num_workers=3)
    try:
        pool.async_reset()
        for _ in range(3):
            pool.recv()
        pool.send(np.array([FINE, KILL]), [0, 2])
        with pytest.raises(WorkerError, match="was killed by SIGKILL while it worked on environment 2"):
            pool.recv()
        for batch in (pool.recv(), pool.step(np.array([FINE, FINE]), [3, 4])):
            cut = dict(zip(batch[4]["env_id"].tolist(), batch[3].tolist(), strict=True))
            assert cut in ({0: False, 2: True}, {3: True, 4: False})
            assert batch[4]["restarted"].tolist() == batch[3].tolist()
        assert pool.step(np.array([FINE, FINE]), [1, 5])[4].keys() == {"env_id"}
    finally:
        pool.close()


def test_a_worker_that_cannot_start():
    with pytest.raises(
        WorkerError, match=r"environment 3 raised when it was made: ZeroDivisionError: .*; the pool is closed"
    ):
        ProcessPool([Moody, Moody, Moody, lambda: 1 // 0], 4, num_workers=2)
    with pytest.raises(
        WorkerError,
        match=r"the worker of environments 0 to 1 exited with code 7 while it started; the pool is closed",
    ):
        ProcessPool(lambda: os._exit(7), 4, num_workers=2)


class Stuck(Moody):
    """Hangs when it is made, or in every reset."""

    def __init__(self, made: bool) -> None:
        super().__init__()
        if made:
            time.sleep(1000)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        time.sleep(1000)


@pytest.mark.timeout(40)
def test_resets_that_hang_are_reported_after_the_timeout():
    pool = ProcessPool([Moody, lambda: Stuck(made=False)], num_workers=1, timeout=1.0)
    with pytest.raises(WorkerError, match=r"^environment 1 did not respond within 1 s.*; the pool is closed") as caught:
        pool.reset()  # so does that of the new worker
    assert caught.value.faults[0].reason == "hung" and caught.value.env_id == 1
    with pytest.raises(wl.InputError, match="this pool is closed"):
        pool.reset()


@pytest.mark.timeout(40)
def test_an_environment_that_hangs_when_it_is_made_is_reported_after_the_timeouts():
    words = r"^environment 2 did not respond within \d+ s when it was made; the pool is closed"
    with pytest.raises(WorkerError, match=words):
        ProcessPool([Moody, Moody, lambda: Stuck(made=True)], num_workers=2, timeout=1.0, start_timeout=6.0)
    for wrong in (0, "x"):
        with pytest.raises(wl.InputError, match="start_timeout is a positive number of seconds"):
            ProcessPool(Moody, timeout=1.0, start_timeout=wrong)


class Informal(Moody):
    """Its infos are what the pool sets."""

    given: Any = None

    def step(self, action: int) -> Any:
        return (*super().step(FINE)[:2], action == 1, False, self.given)


@pytest.mark.parametrize(("given", "autoreset"), [([1], "same_step"), (None, "next_step")])
def test_an_info_that_is_no_dictionary_is_the_fault_of_its_environment(given: Any, autoreset: str):
    with ProcessPool(Informal, 2, num_workers=2, autoreset=autoreset) as pool:
        pool.reset()
        pool.set_attr("given", [{"fine": 1}, given])
        words = (
            rf"^environment 1 raised when it was stepped: TypeError: its info is of type {type(given).__name__}: step"
        )
        with pytest.raises(WorkerError, match=words):
            pool.step(np.array([0, 1]))
        *_, truncations, infos = pool.recv()
        assert truncations.tolist() == [False, True] and infos["fine"][0] == 1


class Strict(Moody):
    """Its reset has no defaults."""

    def reset(self, seed: Any, options: Any) -> Any:
        return super().reset(seed=seed, options=options)


def test_a_new_worker_resets_as_the_pool_does():
    with ProcessPool(Strict, 2, num_workers=2, autoreset="disabled") as pool:
        pool.reset()
        with pytest.raises(WorkerError, match="a new worker has taken over and has reset environment 1"):
            pool.step(np.array([FINE, RAISE]))
        assert pool.recv()[3].tolist() == [False, True]


def test_too_few_file_descriptors_are_one_sentence():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 12, hard))
    try:
        with pytest.raises(
            wl.InputError, match=r"^the operating system refuses what 64 worker processes need: .*ulimit -n"
        ):
            ProcessPool("CartPole-v1", 64, num_workers=64)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with ProcessPool("CartPole-v1", 2, num_workers=1) as pool:
        pool.reset()


def test_a_hung_worker_does_not_hold_up_close():
    pool = pool_of(timeout=60.0)
    pool.reset()
    pids = pool.get_attr("pid")
    pool.send(actions(HANG, 1))
    pool.close(timeout=0.2)
    assert gone(pids, within=0.0)


def test_a_worker_does_without_worldloom_and_its_new_seeds_repeat():
    luck = []
    for _ in range(2):
        with pool_of(2) as pool:
            first = pool.reset()[0][:, 1]
            with pytest.raises(WorkerError):
                pool.step(actions(RAISE, 1, 2))
            luck.append(pool.recv()[0][:, 1].tolist())
            assert pool.get_attr("with_worldloom") == (False, False)
            assert luck[-1][0] == first[0] and luck[-1][1] != first[1]
    assert luck[0] == luck[1]


def test_garbage_collection_ends_the_workers():
    pool = pool_of()
    pids = pool.get_attr("pid")
    del pool
    gc.collect()
    assert gone(pids, within=0.0)


def test_what_an_environment_started_ends_with_its_worker():
    pool = ProcessPool(lambda: Moody(with_child=True), 1, timeout=1.0)
    try:
        pool.reset()
        children = pool.get_attr("child")
        assert all(running(pid) for pid in children)
        with pytest.raises(WorkerError):
            pool.step(np.array([KILL]))
        assert gone(children)
        children = pool.get_attr("child")
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        pool.close()


def test_a_fork_leaves_the_workers_to_the_parent():
    pool = pool_of()
    try:
        pool.reset(seed=0)
        child = os.fork()
        if child == 0:
            try:
                pool.step(actions(FINE, 0))
            except wl.InputError:
                pool.close()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert pool.step(actions(FINE, 0))[0][:, 0].tolist() == [1.0] * 4
    finally:
        pool.close()


PROGRAM = """
import os, signal, sys, time
import numpy as np
from pool_envs import FINE, HANG, Moody
from worldloom.vector.process_pool import ProcessPool

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell inherits SIG_IGN
pool = ProcessPool(Moody, 4, num_workers=2, timeout=30.0)
pool.reset(seed=0)
print(*pool.get_attr("pid"), flush=True)
"""


def start(ending: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A program with a pool of four in two workers, as a separate foreground job, and the workers' process ids."""
    folders = [str(Path(__file__).parent), *sys.path]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(ending)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    PROGRAMS.append(program)
    return program, [int(pid) for pid in program.stdout.readline().split()]


HANGING_STEP = "pool.step(np.array([FINE, HANG, FINE, FINE]))"


@pytest.mark.parametrize("ending", sample([HANGING_STEP, "time.sleep(100)"], 1))
def test_workers_do_not_survive_a_killed_parent(ending: str):
    program, pids = start(ending)
    time.sleep(0.2)
    assert len(set(pids)) == 2 and all(running(pid) for pid in pids)
    memory = named_memory(program.pid, *pids)
    program.kill()
    program.communicate()
    assert gone(pids)
    assert not any(Path(path).exists() for path in memory)


def test_ctrl_c_ends_program_and_workers():
    program, pids = start(HANGING_STEP)
    time.sleep(0.3)
    os.killpg(program.pid, signal.SIGINT)
    _, complaint = program.communicate(timeout=120)
    assert program.returncode in (1, -signal.SIGINT, 130) and complaint.rstrip().endswith("KeyboardInterrupt")
    assert gone(pids)


def test_a_pool_can_be_used_on_after_ctrl_c():
    program, pids = start(
        """
        try:
            print("ready", flush=True)
            while True:
                pool.step(np.zeros(4, int))
        except KeyboardInterrupt:
            steps = pool.step(np.zeros(4, int))[0][:, 0]
            print("same" if len(set(steps.tolist())) == 1 else steps, pool.reset(seed=0)[0][:, 0].tolist())
        """
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    printed, complaint = program.communicate(timeout=120)
    assert program.returncode == 0, complaint
    assert printed == "same [0.0, 0.0, 0.0, 0.0]\n"
    assert gone(pids)


def test_an_exception_ends_program_and_workers():
    program, pids = start("raise RuntimeError('enough')")
    _, complaint = program.communicate(timeout=120)
    assert program.returncode == 1 and complaint.rstrip().endswith("RuntimeError: enough")
    assert gone(pids)
