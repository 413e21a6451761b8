"""EnvPool's Table 2: frames per second of one environment, by Python, EnvPool and worldloom on one CPU.

python benchmarks/papers/envpool_table2.py --out envpool_table2.json
python benchmarks/papers/envpool_table2.py --tasks CheetahRun-v1 --engines python worldloom --seconds 0.2

Frames are those of the emulator or of the physics: four per step of Pong, five of Ant, one of the cheetah. All engines
take the same random actions in alternating rounds; resets are part of the time. Python is ale-py behind Gymnasium's
wrappers, Gymnasium's MuJoCo environment, and dm_control. Ant is Ant-v4 for all: the published Ant-v3 needs MuJoCo 2
in Python. A row that --out has is not measured again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import benchmarks_path  # noqa: F401
import numpy as np
from envpool_import import import_envpool
from figures import draw_bars
from published import published
from results import Results, open_results, run_command, show_table
from run import make_console

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import Run, median_rates

TABLE = published("envpool")["table2"]
Task = Literal["Pong-v5", "Ant-v4", "CheetahRun-v1"]
FRAMES: dict[str, int] = {"Pong-v5": 4, "Ant-v4": 5, "CheetahRun-v1": 1}
"""Frames of a step."""
PUBLISHED = {"Pong-v5": "Pong-v5", "Ant-v4": "Ant-v3", "CheetahRun-v1": "CheetahRun-v1"}
"""The published task of each task."""
ACTIONS = 1024


@dataclass
class Settings:
    """Measure one environment by three engines."""

    tasks: tuple[Task, ...] = ("Pong-v5", "Ant-v4", "CheetahRun-v1")
    """The tasks."""
    engines: tuple[Literal["python", "envpool", "worldloom"], ...] = ("python", "envpool", "worldloom")
    """The engines; one that is not installed is an error."""
    seconds: float = 10.0
    """Approximate time of each task."""
    rounds: int = 9
    """Alternating rounds, of which the median counts."""
    plot: Path | None = None
    """A folder for a figure of all rates."""
    out: Path | None = None
    """A file for the results as JSON; a row that it has is not measured again."""


def actions_of(task: str) -> np.ndarray:
    """Random actions, int64 (ACTIONS,) or float64 (ACTIONS, size)."""
    generator = np.random.default_rng(0)
    if task == "Pong-v5":
        return generator.integers(0, 6, ACTIONS)
    return generator.uniform(-1.0, 1.0, (ACTIONS, {"Ant-v4": 8, "CheetahRun-v1": 6}[task]))


def batched(env: Any, actions: np.ndarray) -> Run:
    """Steps of a batch of one environment, which restarts by itself."""
    env.reset()
    sets = [action[None] for action in actions]

    def run(steps: int) -> None:
        for number in range(steps):
            env.step(sets[number % ACTIONS])

    return run


def worldloom_run(task: str) -> Run:
    kind = np.int32 if task == "Pong-v5" else np.float32
    return batched(wl.make(task, num_envs=1, seed=0), actions_of(task).astype(kind))


def envpool_run(task: str) -> Run:
    kind = np.int32 if task == "Pong-v5" else np.float64
    return batched(import_envpool().make(task, env_type="gymnasium", num_envs=1, seed=0), actions_of(task).astype(kind))


def python_run(task: str) -> Run:
    return dm_control_run() if task == "CheetahRun-v1" else gymnasium_run(task)


def gymnasium_run(task: str) -> Run:
    """Steps of one environment of Gymnasium, with the wrappers of Atari."""
    import gymnasium
    from gymnasium import wrappers

    if task == "Pong-v5":
        import ale_py

        gymnasium.register_envs(ale_py)
        env: Any = gymnasium.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.0)
        env = wrappers.AtariPreprocessing(env, noop_max=30, frame_skip=4, screen_size=84)
        env = wrappers.FrameStackObservation(env, 4)
    else:
        env = gymnasium.make(task)
    env.reset(seed=0)
    actions = list(actions_of(task))

    def run(steps: int) -> None:
        for number in range(steps):
            _, _, terminated, truncated, _ = env.step(actions[number % ACTIONS])
            if terminated or truncated:
                env.reset()

    return run


def dm_control_run() -> Run:
    """Steps of dm_control's cheetah."""
    os.environ.setdefault("MUJOCO_GL", "disable")  # nothing is rendered
    from dm_control import suite  # type: ignore[import-untyped]

    env = suite.load("cheetah", "run", task_kwargs={"random": 0})
    env.reset()
    actions = list(actions_of("CheetahRun-v1"))

    def run(steps: int) -> None:
        for number in range(steps):
            if env.step(actions[number % ACTIONS]).last():
                env.reset()

    return run


ENGINES: dict[str, Callable[[str], Run]] = {"python": python_run, "envpool": envpool_run, "worldloom": worldloom_run}


def measure(task: str, settings: Settings) -> dict[str, float]:
    """Frames per second by engine, measured in turn."""
    contenders: dict[str, Run] = {engine: ENGINES[engine](task) for engine in settings.engines}
    rates = median_rates(contenders, settings.seconds, settings.rounds)
    return {engine: rate * FRAMES[task] for engine, rate in rates.items()}


def table_rows(settings: Settings, results: Results) -> list[tuple[Any, ...]]:
    """Ours first, then the published systems: frames per second and ratios to Python."""
    rows: list[tuple[Any, ...]] = []
    for task in settings.tasks:
        found = results.rows[key_of(task, settings)]["rates"]
        ratios = (found.get(e) and found.get("python") and found[e] / found["python"] for e in ("envpool", "worldloom"))
        rows.append((task, "this machine", *(found.get(e) for e in ENGINES), *ratios))
        for system, rates in TABLE["rates"][PUBLISHED[task]].items():
            python, envpool = float(rates["python"]), float(rates["envpool"])
            rows.append((PUBLISHED[task], f"published, {system}", python, envpool, None, envpool / python, None))
    return rows


def key_of(task: str, settings: Settings) -> str:
    return f"{task}/{'+'.join(settings.engines)}"


def main(settings: Settings) -> None:
    console, device = make_console(), resolve("cpu")[0]
    shared = {"seconds": settings.seconds, "rounds": settings.rounds}
    results = open_results(settings.out, "envpool_table2", shared)
    for task in settings.tasks:
        if key_of(task, settings) not in results.rows:
            rates = measure(task, settings)
            results.put(key_of(task, settings), {"task": task, "rates": rates}, device)
            console.print(f"{task}: " + ", ".join(f"{engine} {rate:,.0f} frames/s" for engine, rate in rates.items()))
    heads = ("task", "system", *ENGINES, "EnvPool / Python", "worldloom / Python")
    rows = table_rows(settings, results)
    show_table(console, "EnvPool, Table 2: frames per second of one environment", heads, rows)
    if settings.plot is not None:
        bars: dict[str, dict[str, float]] = {}
        for task in settings.tasks:
            for engine, rate in results.rows[key_of(task, settings)]["rates"].items():
                bars.setdefault(engine, {})[task] = rate
        for file in draw_bars(settings.plot / "envpool_table2", "One environment", "frames per second", bars):
            console.print(f"wrote {file}")


if __name__ == "__main__":
    run_command(main, Settings)
