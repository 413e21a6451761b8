"""The classic control worlds are Gymnasium's: every step of its episodes, from its own states, gives the same.

Gymnasium computes in double precision and worldloom in single. So long episodes drift apart, the faster the more
chaotic the world is, and what is held to 1e-5 is each single step. How long whole episodes stay together is tested on
its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl

EPISODES = 1000 if THOROUGH else 60
WHOLE = 50 if THOROUGH else 15
"""Episodes that are compared as a whole."""
ACCURACY = 1e-5

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A world, how it is driven, and how Gymnasium's state lies in its columns.

    Attributes:
        act: The action for (observation, random number generator, the episode's share of random actions, up to 2).
        columns: Column by column, the numbers of Gymnasium's state that it holds.
        free_steps: Steps for which whole episodes agree to 1e-4.
        options: Of ``gymnasium.make``; the same names are worldloom's configuration.
        angles: Numbers of the state that count modulo 2 pi.
    """

    id: str
    kind: str
    columns: dict[str, list[int]]
    act: Callable[[Array, np.random.Generator, float], Any]
    free_steps: int
    options: dict[str, Any] = field(default_factory=dict)
    angles: tuple[int, ...] = ()


def balance(seen: Array, rng: np.random.Generator, noise: float) -> int:
    return (
        int(rng.integers(2))
        if rng.random() < noise
        else int(seen[2] + 0.5 * seen[3] + 0.05 * seen[0] + 0.1 * seen[1] > 0.0)
    )


def any_torque(seen: Array, rng: np.random.Generator, noise: float) -> Array:
    """Random, beyond what the motor can do, and for a part of the episode the same way round."""
    return np.float32([rng.uniform(-2.5, 2.5) if rng.random() < noise else 2.5 * np.sign(seen[2])])


def rock(seen: Array, rng: np.random.Generator, noise: float) -> int:
    return int(rng.integers(3)) if rng.random() < noise else 2 if seen[1] > 0.0 else 0


def rock_softly(seen: Array, rng: np.random.Generator, noise: float) -> Array:
    return np.float32([rng.uniform(-1.2, 1.2) if rng.random() < 0.8 * noise else np.sign(seen[1])])


def pump(seen: Array, rng: np.random.Generator, noise: float) -> int:
    return int(rng.integers(3)) if rng.random() < 0.5 * noise else 2 if seen[4] < 0.0 else 0


CART = {"x": [0], "velocity": [1], "angle": [2], "spin": [3]}
CAR = {"x": [0], "velocity": [1]}
CASES = [
    Case("CartPole-v0", "Cart", CART, balance, 50),
    Case("CartPole-v1", "Cart", CART, balance, 50, {"sutton_barto_reward": True}),
    Case("Pendulum-v1", "Rod", {"angle": [0], "spin": [1]}, any_torque, 20, angles=(0,)),
    Case("Pendulum-v1", "Rod", {"angle": [0], "spin": [1]}, any_torque, 20, {"g": 9.81}, angles=(0,)),
    Case("MountainCar-v0", "GearCar", CAR, rock, 200),
    Case("MountainCarContinuous-v0", "ThrottleCar", CAR, rock_softly, 999),
    Case("MountainCarContinuous-v0", "ThrottleCar", CAR, rock_softly, 999, {"goal_velocity": 0.02}),
    Case("Acrobot-v1", "Links", {"angles": [0, 1], "spins": [2, 3]}, pump, 20),
]
NAMES = [f"{case.id}{'-' if case.options else ''}{','.join(case.options)}" for case in CASES]


@dataclass
class Recorded:
    """Every step of Gymnasium's episodes, one after the other: arrays with one row per step."""

    state: Array
    action: Array
    step: Array
    seen: Array
    reward: Array
    terminated: Array
    truncated: Array
    starts: list[int] = field(default_factory=list)


def record(case: Case, episodes: int) -> Recorded:
    rng = np.random.default_rng(7)
    env = gymnasium.make(case.id, disable_env_checker=True, **case.options)
    rows: list[tuple] = []
    starts = []
    for episode in range(episodes):
        seen, _ = env.reset(seed=episode)
        noise = (
            2.0 if episode % 50 == 0 else rng.random()
        )  # always random, so that it comes to its limit; or more or less to the purpose
        step, over = 0, False
        starts.append(len(rows))
        while not over:
            state = np.array(env.unwrapped.state, np.float64)
            action = case.act(seen, rng, noise)
            seen, reward, terminated, truncated, _ = env.step(action)
            rows.append((state, action, step, seen, reward, terminated, truncated))
            step, over = step + 1, terminated or truncated
    env.close()
    return Recorded(*(np.array(column) for column in zip(*rows, strict=True)), starts)


def write_states(case: Case, sim: wl.Simulation, states: Array) -> None:
    """Put Gymnasium's states, shape (num_worlds, n), into the columns."""
    states = states.copy()
    for place in case.angles:
        states[:, place] = (states[:, place] + np.pi) % (2.0 * np.pi) - np.pi
    for name, places in case.columns.items():
        column = sim[case.kind][name].numpy()
        column[:] = states[:, places].reshape(column.shape)


def simulation(case: Case, worlds: int) -> wl.Simulation:
    return wl.Simulation(case.id, worlds, "cpu", seed=1, autoreset="disabled", config=case.options)


def action_column(sim: wl.Simulation, actions: Array) -> Array:
    ((table, field_),) = sim.definition.actions().values()
    column = sim[table][field_.name]
    return np.asarray(actions).astype(column.dtype).reshape(column.shape)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_step_of_many_episodes(case: Case) -> None:
    """All recorded steps at once: one world per step, started from Gymnasium's state at that step."""
    steps = record(case, EPISODES if not case.options else min(100, EPISODES))
    sim = simulation(case, len(steps.step))
    write_states(case, sim, steps.state)
    sim.world.step.numpy()[:] = steps.step
    sim.step(action_column(sim, steps.action))
    np.testing.assert_allclose(sim[case.kind].sight.numpy()[:, 0], steps.seen, rtol=ACCURACY, atol=ACCURACY)
    np.testing.assert_allclose(sim[case.kind].reward.numpy()[:, 0], steps.reward, rtol=ACCURACY, atol=ACCURACY)
    np.testing.assert_array_equal(sim.terminated.numpy(), steps.terminated)
    np.testing.assert_array_equal(sim.truncated.numpy(), steps.truncated)
    assert sim.errors() == []
    assert steps.truncated.any(), "no episode came to its limit"
    assert steps.terminated.any() or case.id == "Pendulum-v1", "no episode came to its own end"


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.options], ids=[case.id for case in CASES if not case.options]
)
def test_whole_episodes_stay_together(case: Case) -> None:
    """The same start and the same actions, and nothing else handed over."""
    steps = record(case, WHOLE)
    sim = simulation(case, WHOLE)
    starts, ends = np.array(steps.starts), np.array([*steps.starts[1:], len(steps.step)])
    write_states(case, sim, steps.state[starts])
    compared = 0
    for step in range(min(case.free_steps, int((ends - starts).max()))):
        here = np.minimum(starts + step, ends - 1)
        running = starts + step < ends
        sim.step(action_column(sim, steps.action[here]))
        np.testing.assert_allclose(
            sim[case.kind].sight.numpy()[running, 0],
            steps.seen[here][running],
            rtol=1e-4,
            atol=1e-4,
            err_msg=f"step {step}",
        )
        compared += int(running.sum())
    assert compared >= WHOLE * min(20, case.free_steps)


STARTS = {
    "CartPole-v1": ("Cart", CART, [-0.05] * 4, [0.05] * 4),
    "Pendulum-v1": ("Rod", {"angle": [0], "spin": [1]}, [-np.pi, -1.0], [np.pi, 1.0]),
    "MountainCar-v0": ("GearCar", CAR, [-0.6, 0.0], [-0.4, 0.0]),
    "MountainCarContinuous-v0": ("ThrottleCar", CAR, [-0.6, 0.0], [-0.4, 0.0]),
    "Acrobot-v1": ("Links", {"angles": [0, 1], "spins": [2, 3]}, [-0.1] * 4, [0.1] * 4),
}


@pytest.mark.parametrize("id", STARTS)
def test_start_states_are_uniform_in_gymnasiums_range(id: str) -> None:
    kind, columns, low, high = STARTS[id]
    worlds = 4000
    sim = wl.Simulation(id, worlds, "cpu", seed=3, autoreset="disabled")
    states = np.concatenate([sim[kind][name].numpy().reshape(worlds, -1) for name in columns], axis=1)
    low, high = np.array(low), np.array(high)
    assert (states >= low - 1e-6).all() and (states <= high + 1e-6).all()
    free = high > low
    shares = (states[:, free] - low[free]) / (high[free] - low[free])
    np.testing.assert_allclose(shares.mean(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(shares.std(axis=0), 1.0 / np.sqrt(12.0), atol=0.01)
    assert (np.abs(np.corrcoef(shares.T) - np.eye(free.sum())) < 0.07).all()


def test_the_noise_on_acrobots_torque_is_what_gymnasium_would_have_drawn() -> None:
    """With a random torque, the step is Gymnasium's for a torque in its range, and the torques fill the range."""
    worlds = 2000
    sim = wl.Simulation("Acrobot-v1", worlds, "cpu", seed=1, autoreset="disabled", config={"torque_noise_max": 0.5})
    for name in ("angles", "spins"):
        sim["Links"][name].numpy()[:] = 0.05
    sim.step(np.full(worlds, 2, np.int32))
    env = gymnasium.make("Acrobot-v1").unwrapped
    spins = []
    for torque in (0.5, 1.5):
        env.reset(seed=0)
        env.state, env.AVAIL_TORQUE = np.full(4, 0.05), [0.0, 0.0, torque]
        spins.append(env.step(2)[0][5])
    low, high = sorted(spins)
    shares = (sim["Links"].spins.numpy()[:, 0, 1] - low) / (high - low)
    assert shares.min() > -1e-3 and shares.max() < 1.001
    np.testing.assert_allclose([shares.min(), shares.mean(), shares.max()], [0.0, 0.5, 1.0], atol=0.03)


def test_acrobot_by_the_equations_of_the_paper() -> None:
    sim = wl.Simulation(
        "Acrobot-v1", 100, "cpu", seed=1, autoreset="disabled", config={"nips": True, "low": -2.0, "high": 2.0}
    )
    env = gymnasium.make("Acrobot-v1").unwrapped
    env.book_or_nips = "nips"
    states = np.concatenate([sim["Links"][name].numpy()[:, 0] for name in ("angles", "spins")], axis=1)
    sim.step(np.zeros(100, np.int32))
    expected = []
    for state in states:
        env.reset(seed=0)
        env.state = state.astype(np.float64)
        expected.append(env.step(0)[0])
    np.testing.assert_allclose(sim["Links"].sight.numpy()[:, 0], expected, rtol=ACCURACY, atol=ACCURACY)
