"""Kills trainings at random moments and resumes them: ``python tests/fuzz/kill_runs.py --kills 200 --seed 0``.

Runs of ppo, dqn and sac take turns. Each child continues its run, saves checkpoints often, and is killed with SIGKILL:
mostly at a random moment after its training has done an iteration, else while it starts. After every kill the folder
is checked: every checkpoint is complete, the metrics have every iteration once and in order, and there are no more
temporary files than one process can leave. Every start must continue from the last checkpoint. At the end each run must
equal, bit for bit, one that was never killed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import select
import shutil
import signal
import struct
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import forked
import torch

from worldloom.core.base.files import is_temporary
from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.sac import SACConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.training_run import TrainingRequest, run_training
from worldloom.learn.training.callbacks import Callback

CHECKPOINT_EVERY_S = 0.2
LONGEST_S = 1.0
"""A child is killed between 0 and this many seconds after its first iteration, or after its start."""
EARLY = 0.1
"""The share of the kills that count from the start."""
TIMEOUT_S = 120.0
"""Seconds within which a child must have done an iteration."""
WORLDS = {"ppo": "CartPole-v1", "dqn": "CartPole-v1", "sac": "Pendulum-v1"}
CONFIGS: dict[str, TrainConfig] = {
    "ppo": PPOConfig(
        num_envs=64,
        num_steps=32,
        minibatches=4,
        epochs=2,
        device="cpu",
        total_steps=10**9,
        policy=PolicyConfig(hidden=(32, 32)),
    ),
    "dqn": DQNConfig(
        num_envs=16,
        device="cpu",
        total_steps=10**9,
        learning_starts=256,
        batch_size=64,
        replay_capacity=4096,
        schedule="constant",
    ),
    "sac": SACConfig(
        num_envs=8,
        device="cpu",
        total_steps=10**9,
        learning_starts=128,
        batch_size=64,
        replay_capacity=4096,
        steps_per_update=8,
        policy=PolicyConfig(hidden=(32, 32)),
    ),
}


class Reports(Callback):
    """Tells the parent where the training goes on, and of its first iteration; ends it after ``last`` iterations."""

    def __init__(self, pipe: int, last: int) -> None:
        self.pipe, self.last, self.first = pipe, last, -1

    def on_start(self, trainer) -> None:
        self.first = trainer.iteration
        os.write(self.pipe, struct.pack("q", trainer.iteration))
        if trainer.iteration >= self.last:
            trainer.stop()

    def on_iteration(self, trainer, progress) -> None:
        if trainer.iteration == self.first + 1:
            os.write(self.pipe, struct.pack("q", trainer.iteration))
        if trainer.iteration >= self.last:
            trainer.stop()


@dataclass
class Result:
    """What became of the kills.

    Attributes:
        kills: All of them.
        before_start: Those before the training began.
        in_training: Those after its first iteration.
        resumed: Those of a training that had continued from a checkpoint.
        leftovers: Those that left temporary files.
        iterations: Iterations of the run at the end.
    """

    kills: int = 0
    before_start: int = 0
    in_training: int = 0
    resumed: int = 0
    leftovers: int = 0
    iterations: int = 0


def train(algorithm: str, folder: Path, pipe: int, last: int, every_s: float) -> int:
    request = TrainingRequest(
        WORLDS[algorithm],
        algorithm,
        CONFIGS[algorithm],
        run_dir=folder,
        resume="auto",
        checkpoint_every=every_s,
        keep=2,
    )
    run_training(request, [Reports(pipe, last)])
    return 0


def start(algorithm: str, folder: Path, last: int = 2**40, every_s: float = CHECKPOINT_EVERY_S) -> tuple[int, int]:
    """A child that goes on with the run in ``folder``, and the end of a pipe that gets the iteration it starts from."""
    reading, writing = os.pipe()
    child = forked.fork(lambda: train(algorithm, folder, writing, last, every_s), folder.with_suffix(".log"))
    os.close(writing)
    return child, reading


def wait_for_iteration(pipe: int) -> bytes:
    """What the child on the other end of ``pipe`` reported up to its first iteration, or up to its end."""
    data, end = b"", time.monotonic() + TIMEOUT_S
    while len(data) < 16 and select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(pipe, 16)
        if not part:
            break
        data += part
    return data


def began_at(pipe: int, before: bytes) -> tuple[int | None, bool]:
    """Where the child on the other end of ``pipe``, which has ended, went on; and whether it did an iteration.

    None where it ended before. ``before`` is what was read from the pipe already.
    """
    data = before + os.read(pipe, 16 - len(before)) if len(before) < 16 else before
    os.close(pipe)
    return (struct.unpack("q", data[:8])[0] if len(data) >= 8 else None), len(data) == 16


def examine(folder: Path) -> tuple[int, int]:
    """The iteration of the last checkpoint, and the number of leftovers; AssertionError for an invalid folder."""
    saved = Checkpoints(folder / "checkpoints")
    displaced = [
        path
        for path in (folder / "checkpoints").glob(".replaced_*")
        if not (path.parent / path.name.removeprefix(".replaced_")).exists()
    ]
    iterations = [
        saved.load(path).iteration for path in (*saved.all(), *displaced)
    ]  # raises for a checkpoint that is not whole
    if (folder / "config.json").exists():
        json.loads((folder / "config.json").read_text())
    check_metrics(folder / "metrics.jsonl")
    hidden = [path for path in folder.glob(".*") if is_temporary(path.name)] + list((folder / "checkpoints").glob(".*"))
    assert len(hidden) <= 3, f"{folder} has {len(hidden)} temporary files: {[path.name for path in hidden]}"
    return max(iterations, default=0), len(hidden)


def check_metrics(file: Path) -> None:
    """Check that iterations are in order and steps and seconds never decrease; the last line may be incomplete."""
    rows = [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]] if file.exists() else []
    assert [row["iteration"] for row in rows] == list(range(1, len(rows) + 1)), f"{file} does not count its iterations"
    for name in ("steps", "seconds"):
        assert all(a[name] <= b[name] for a, b in itertools.pairwise(rows)), f"{name} goes back in {file}"


def equal(first: Path, second: Path) -> bool:
    """Whether the last checkpoints of two runs hold the same bits."""
    one, other = (Checkpoints(path / "checkpoints") for path in (first, second))
    a, b = one.load(one.latest()), other.load(other.latest())
    return (a.iteration, a.steps, set(a.tensors)) == (b.iteration, b.steps, set(b.tensors)) and all(
        torch.equal(a.tensors[k].reshape(-1).view(torch.uint8), b.tensors[k].reshape(-1).view(torch.uint8))
        for k in a.tensors
    )


def kill_runs(root: Path, kills: int, seed: int, longest_s: float, every_s: float) -> dict[str, Result]:
    """Kill ``kills`` trainings in folders below ``root``; AssertionError where one does not go on as it should."""
    chance, results, last = random.Random(seed), {name: Result() for name in CONFIGS}, dict.fromkeys(CONFIGS, 0)
    for number in range(kills):
        algorithm = tuple(CONFIGS)[number % len(CONFIGS)]
        folder, result = root / algorithm, results[algorithm]
        child, pipe = start(algorithm, folder, every_s=every_s)
        reported = b"" if chance.random() < EARLY else wait_for_iteration(pipe)
        time.sleep(chance.uniform(0.0, longest_s))
        os.kill(child, signal.SIGKILL)
        code = forked.wait(child, 60.0)
        assert code == -signal.SIGKILL, (
            f"the {algorithm} training ended by itself with {code}:\n{folder.with_suffix('.log').read_text()}"
        )
        began, trained = began_at(pipe, reported)
        assert began in (None, last[algorithm]), (
            f"{algorithm} went on from iteration {began}, and its last checkpoint is that of {last[algorithm]}"
        )
        found, leftovers = examine(folder)
        assert found >= last[algorithm], f"{algorithm} lost a checkpoint: {last[algorithm]} before, {found} now"
        result.kills += 1
        result.before_start += began is None
        result.in_training += trained
        result.resumed += began is not None and began > 0
        result.leftovers += leftovers > 0
        last[algorithm] = found
    for algorithm, result in results.items():
        folder, straight = root / algorithm, root / f"{algorithm}_straight"
        result.iterations = last[algorithm] + 10
        finish(algorithm, folder, result.iterations)
        found, leftovers = examine(folder)
        assert (found, leftovers) == (result.iterations, 0), (
            f"{folder} has {leftovers} temporary files at iteration {found} of {result.iterations}"
        )
        finish(algorithm, straight, result.iterations)
        assert equal(folder, straight), f"the {algorithm} run that was killed differs from one that was not"
    return results


def finish(algorithm: str, folder: Path, last: int) -> None:
    """Train up to iteration ``last`` without a kill."""
    child, pipe = start(algorithm, folder, last)
    code = forked.wait(child, 1200.0)
    os.close(pipe)
    assert code == 0, f"the {algorithm} training ended with {code}:\n{folder.with_suffix('.log').read_text()}"


def warm_up(root: Path) -> None:
    """Compile and load all kernels in this process, from which children are forked."""
    for algorithm in CONFIGS:
        train(algorithm, root / f"{algorithm}_warm", os.open(os.devnull, os.O_WRONLY), 20, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=float, default=CHECKPOINT_EVERY_S, help="seconds between two checkpoints")
    parser.add_argument("--longest", type=float, default=LONGEST_S, help="the most seconds of training before a kill")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    root = Path(tempfile.mkdtemp(prefix="kill_runs_"))
    begin = time.monotonic()
    warm_up(root)
    for algorithm, result in kill_runs(root, options.kills, options.seed, options.longest, options.every).items():
        print(f"{algorithm}: {result}")
    kills = f"{options.kills} kills with seed {options.seed} in {time.monotonic() - begin:.0f} s"
    print(f"{kills}: every run continued from its last checkpoint, equal to one never killed")
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
