"""World steps per second of Madrona's worlds as worldloom has them, on one device, and of their Python originals.

A step is one ``Simulation.step`` with random actions. Episode ends, resets, rewards, observations and masks are part of
it; inference is not. Worlds with a time limit start at different steps of their first episode, so that every step has
its share of resets.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import benchmarks_path  # noqa: F401
import numpy as np
from random_player import RandomPlayer

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.base.shards import num_cores, thread_count
from worldloom.core.measure.random_actions import find_mask
from worldloom.core.measure.timing import Run, make_actions, median_rates, step_runner
from worldloom.learn.training.episode_starts import stagger_episodes

WorldId = Literal["HideSeek-v0", "Overcooked-v0", "Hanabi-v0", "CartPole-v1", "EscapeRoom-v0"]
WORLDS: tuple[WorldId, ...] = ("HideSeek-v0", "Overcooked-v0", "Hanabi-v0", "CartPole-v1", "EscapeRoom-v0")
ROUNDS = 5


@dataclass(frozen=True)
class Timed:
    """A measurement.

    Attributes:
        rate: World steps per second, the median of the rounds.
        threads: CPU threads; 1 on a GPU.
    """

    rate: float
    threads: int


def runner(simulation: wl.Simulation) -> Run:
    """Steps with random actions through ``Simulation.step``; with masks, actions that the current mask allows."""
    actions = simulation.definition.actions().values()
    if any(find_mask(simulation.tables[table], field.name) is not None for table, field in actions):
        return RandomPlayer(simulation, 1).step_publicly
    return step_runner(simulation, make_actions(simulation))


def measure(id: str, worlds: int, device: str, seconds: float, warm_up: int, threads: int | None = None) -> Timed:
    """Step ``worlds`` worlds of ``id`` for about ``seconds`` after ``warm_up`` steps.

    Args:
        id: The world.
        worlds: Worlds of the batch.
        device: cpu or cuda:N.
        seconds: Approximate time of all rounds.
        warm_up: Steps before the first round, so that random play has left the starts of the episodes; fewer where
            they take longer than ``seconds``.
        threads: CPU threads; None for the faster of the engine's choice and all cores.
    """
    found, cuda = resolve(device)[0], resolve(device)[0].is_cuda
    kind = wl.definition(id)
    own = thread_count(worlds, None, kind.worlds_per_thread)
    all_cores = thread_count(worlds, num_cores())
    candidates = [1] if cuda else [threads] if threads is not None else sorted({own, all_cores})
    best = Timed(0.0, 0)
    for count in candidates:
        with wl.Simulation(kind, worlds, found.alias, seed=0, threads=None if cuda else count) as simulation:
            stagger_episodes(simulation, 0, worlds)
            run = runner(simulation)
            _warm_up(run, warm_up, seconds)
            rate = worlds * median_rates({"": run}, seconds / len(candidates), ROUNDS)[""]
            faults = len(simulation.errors())
        assert faults == 0, f"{id}: {faults} faults with random actions"
        best = max(best, Timed(rate, count), key=lambda timed: timed.rate)
    return best


def _warm_up(run: Run, steps: int, seconds: float) -> None:
    """Take ``steps`` steps, or those of ``seconds``."""
    began = time.perf_counter()
    for _ in range(steps):
        run(1)
        if time.perf_counter() - began > seconds:
            break


def measure_reference(id: str, seconds: float) -> float | None:
    """Environment steps per second of the Python original in one process; None where there is none, or not installed.

    Gymnasium's CartPole, the Hanabi Learning Environment through its Python binding, and overcooked-ai with the
    lossless encoding of both players, each with random actions.
    """
    try:
        run = {"CartPole-v1": _gymnasium, "Hanabi-v0": _hanabi, "Overcooked-v0": _overcooked}[id]()
    except (ImportError, KeyError):
        return None
    return median_rates({"": run}, seconds, ROUNDS)[""]


def _gymnasium() -> Run:
    import gymnasium

    env = gymnasium.make("CartPole-v1")
    actions = np.random.default_rng(0).integers(0, 2, 4096).tolist()
    env.reset(seed=0)

    def run(steps: int) -> None:
        for number in range(steps):
            _, _, terminated, truncated, _ = env.step(actions[number % len(actions)])
            if terminated or truncated:
                env.reset()

    return run


def _hanabi() -> Run:
    from hanabi import HleGame

    return HleGame(2).run


def _overcooked() -> Run:
    if find_spec("overcooked_ai_py") is None:
        raise ImportError("overcooked-ai")
    from overcooked import original_run

    return original_run("cramped_room")
