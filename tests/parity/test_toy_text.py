"""The toy text worlds are Gymnasium's: the same transition probabilities, and the same episodes if nothing is random.

Gymnasium holds the rules of its grids as a table: for each state and action a list of (probability, next state, reward,
terminated). Every outcome of ours must be in that table, and how often each occurs is held to it by a chi-square test
with a fixed seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import pytest
from chi_square import Array, assert_as_likely
from gymnasium.envs.toy_text.frozen_lake import generate_random_map
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.envs import frozen_lake

pytestmark = pytest.mark.usefixtures("quick_compilation")

EPISODES = 1000 if THOROUGH else 200


def write_cells(sim: wl.Simulation, states: Array) -> None:
    sim["Walker"].cell.numpy()[:, 0] = states


def write_town(sim: wl.Simulation, states: Array) -> None:
    cab = sim["Cab"]
    rest, cab.destination.numpy()[:, 0] = np.divmod(states, 4)
    cab.cell.numpy()[:, 0], cab.passenger.numpy()[:, 0] = np.divmod(rest, 5)


@dataclass(frozen=True)
class Grid:
    """A world with a table, and its options; ``worldloom`` and ``gymnasium`` take them by the same names.

    Attributes:
        samples: How often each state and action is tried.
        limit: Steps of an episode that both are asked for.
    """

    id: str
    kind: str
    write: Callable[[wl.Simulation, Array], None]
    options: dict[str, Any]
    samples: int
    limit: int
    gymnasium_id: str = ""

    def gym(self) -> gymnasium.Env:
        return gymnasium.make(self.gymnasium_id or self.id, disable_env_checker=True, **self.options)

    def simulation(self, worlds: int, **keywords: Any) -> wl.Simulation:
        config = {
            name: np.float32(value) if isinstance(value, tuple) else value for name, value in self.options.items()
        }
        return wl.Simulation(self.id, worlds, "cpu", seed=5, config=config, **keywords)


GRIDS = [
    Grid("FrozenLake-v1", "Walker", write_cells, {}, 300, 100),
    Grid("FrozenLake-v1", "Walker", write_cells, {"success_rate": 0.75, "reward_schedule": (10, -5, -1)}, 300, 100),
    Grid("FrozenLake-v1", "Walker", write_cells, {"is_slippery": False}, 1, 100),
    Grid("FrozenLake8x8-v1", "Walker", write_cells, {}, 100, 200),
    Grid("CliffWalking-v1", "Walker", write_cells, {}, 1, 200),
    Grid("CliffWalkingSlippery-v1", "Walker", write_cells, {}, 100, 200),
    Grid("Taxi-v3", "Cab", write_town, {}, 1, 200, "Taxi-v4"),
    Grid("Taxi-v4", "Cab", write_town, {"is_rainy": True}, 50, 200),
    Grid("Taxi-v4", "Cab", write_town, {"is_rainy": True, "rainy_probability": 0.5}, 20, 200),
]
CERTAIN = [grid for grid in GRIDS if grid.samples == 1]


def name(grid: Grid) -> str:
    return "-".join([grid.id, *grid.options])


@pytest.mark.parametrize("grid", sample(GRIDS, 3), ids=name)
def test_every_transition_is_in_the_table_and_as_likely(grid: Grid) -> None:
    env = grid.gym()
    table = env.unwrapped.P
    env.close()
    states, actions = (
        a.ravel() for a in np.meshgrid(np.repeat(list(table), grid.samples), np.arange(len(table[0])), indexing="ij")
    )
    sim = grid.simulation(len(states), autoreset="disabled")
    grid.write(sim, states)
    sim.step(actions.astype(np.int32))
    kind = sim[grid.kind]
    prob = np.round(kind.prob.numpy().astype(float), 5)
    parts = (states, actions, kind.sight.numpy()[:, 0], kind.reward.numpy()[:, 0], sim.terminated.numpy(), prob[:, 0])
    seen = Counter(zip(*(part.tolist() for part in parts), strict=True))
    found, expected = [], []
    for state, moves in table.items():
        for action, entries in moves.items():
            wanted: Counter = Counter()
            for chance, after, reward, terminated in entries:
                wanted[(state, action, int(after), float(reward), bool(terminated), round(chance, 5))] += chance
            counts = {key: seen.pop(key, 0) for key in wanted}
            assert sum(counts.values()) == grid.samples, f"state {state}, action {action}: {counts}"
            if len(wanted) > 1:
                found.append(np.array(list(counts.values())))
                expected.append(grid.samples * np.array(list(wanted.values())))
    assert not seen, "outcomes that are not in the table"
    if grid.samples > 1:
        assert_as_likely(found, expected)


@pytest.mark.parametrize("grid", CERTAIN, ids=name)
def test_episodes_step_by_step(grid: Grid) -> None:
    """Where nothing is random, the same start and actions give the same episodes, limits and masks included."""
    env = grid.gym()
    rng = np.random.default_rng(2)
    choices = int(env.action_space.n)
    actions = rng.integers(0, choices, (grid.limit, EPISODES)).astype(np.int32)
    # Half of the walkers have an aim, so that more of them come somewhere.
    actions[:, ::2] = np.where(
        rng.random((grid.limit, EPISODES // 2)) < 0.5, np.arange(EPISODES // 2) % choices, actions[:, ::2]
    )
    actions[:, :10] = 0  # and a few of them walk against a wall until their time is up
    starts = np.array([env.reset(seed=k)[0] for k in range(EPISODES)])
    sim = grid.simulation(EPISODES, autoreset="disabled")
    grid.write(sim, starts)
    kind = sim[grid.kind]
    ours = []
    for action in actions:
        sim.step(action)
        parts = [kind.sight.numpy()[:, 0], kind.reward.numpy()[:, 0], sim.terminated.numpy(), sim.truncated.numpy()]
        ours.append(
            [part.tolist() for part in parts]
            + [kind.action_mask.numpy()[:, 0].tolist() if grid.kind == "Cab" else None]
        )
    ends: Counter = Counter()
    for world in range(EPISODES):
        env.reset(seed=world)
        for step in range(grid.limit):
            state, reward, terminated, truncated, info = env.step(int(actions[step, world]))
            seen = tuple(part[world] for part in ours[step][:4])
            assert seen == (state, reward, terminated, truncated), (world, step)
            if grid.kind == "Cab":
                assert ours[step][4][world] == info["action_mask"].tolist(), (world, step)
            if terminated or truncated:
                break
        ends["terminated" if terminated else "truncated" if truncated else "running"] += 1
    env.close()
    assert ends["terminated"] > 0, ends
    assert ends["truncated"] > 0 or env.spec.max_episode_steps is None, ends


@pytest.mark.parametrize("grid", [g for g in GRIDS if g.samples > 1 and g.kind == "Walker"], ids=name)
def test_random_episodes_follow_the_table(grid: Grid) -> None:
    """Episodes one after the other in the same worlds: starts, limits and every move are possible ones."""
    env = grid.gym()
    table, limit = env.unwrapped.P, env.spec.max_episode_steps
    first = int(env.reset(seed=0)[0])
    env.close()
    worlds = EPISODES // 4
    sim = grid.simulation(worlds, autoreset="same_step")
    rng = np.random.default_rng(3)
    before, age, episodes = np.full(worlds, first), np.zeros(worlds, int), 0
    np.testing.assert_array_equal(sim["Walker"].sight.numpy()[:, 0], before)
    for _ in range(6 * grid.limit):
        action = rng.integers(0, 4, worlds)
        sim.step(action.astype(np.int32))
        age += 1
        terminated, truncated = sim.terminated.numpy(), sim.truncated.numpy()
        over = terminated | truncated
        after = np.where(over, sim["Walker"].final_sight.numpy()[:, 0], sim["Walker"].sight.numpy()[:, 0])
        reward = sim["Walker"].reward.numpy()[:, 0]
        for world in range(worlds):
            outcome = (int(after[world]), float(reward[world]), bool(terminated[world]))
            assert outcome in {
                (int(s), float(r), bool(t)) for _, s, r, t in table[int(before[world])][int(action[world])]
            }
        np.testing.assert_array_equal(truncated, age == limit if limit else np.zeros(worlds, bool))
        episodes += int(over.sum())
        assert (sim["Walker"].sight.numpy()[over, 0] == first).all()
        before, age = sim["Walker"].sight.numpy()[:, 0].copy(), np.where(over, 0, age)
        if episodes >= EPISODES:
            break
    assert episodes >= EPISODES or limit is None


def test_taxis_start_anywhere_but_at_their_aim() -> None:
    sim = wl.Simulation("Taxi-v4", 30_000, "cpu", seed=1)
    distribution = gymnasium.make("Taxi-v4").unwrapped.initial_state_distrib
    counts = np.bincount(sim["Cab"].sight.numpy()[:, 0], minlength=500)
    assert (counts[distribution == 0.0] == 0).all()
    assert_as_likely([counts[distribution > 0.0]], [30_000 * distribution[distribution > 0.0]])


def test_fickle_passengers_change_their_mind_once_and_as_often() -> None:
    """Three tenths of them, at the first move after they got in, each other destination as likely."""
    worlds = 20_000
    sim = wl.Simulation("Taxi-v4", worlds, "cpu", seed=1, autoreset="disabled", config={"fickle_passenger": True})
    cab = sim["Cab"]
    cab.cell.numpy()[:], cab.passenger.numpy()[:], cab.destination.numpy()[:] = 12, 4, 1
    for act, changes in (
        (4, False),
        (5, False),
        (0, True),
        (1, False),
    ):  # nothing to pick up, no pad, a move, another move
        before = cab.destination.numpy().copy()
        fickle = cab.fickle.numpy().copy()
        sim.step(np.full(worlds, act, np.int32))
        changed = cab.destination.numpy() != before
        np.testing.assert_array_equal(changed, fickle if changes else np.zeros_like(fickle))
    counts = np.bincount(cab.destination.numpy()[:, 0], minlength=4)
    assert_as_likely([counts], [worlds * np.array([0.1, 0.7, 0.1, 0.1])])
    # Gymnasium's own, by the same moves.
    env = gymnasium.make("Taxi-v4", fickle_passenger=True).unwrapped
    found: Counter = Counter()
    for k in range(2000):
        env.reset(seed=k)
        env.s = env.encode(2, 2, 4, 1)
        for act in (4, 5, 0, 1):
            state = env.step(act)[0]
        found[state % 4] += 1
    assert_as_likely([np.array([found[d] for d in range(4)])], [2000 * np.array([0.1, 0.7, 0.1, 0.1])])


@pytest.mark.parametrize(("size", "p", "seed"), [(4, 0.8, 0), (8, 0.8, 1), (8, 0.6, 2), (5, 1.0, 3)])
def test_generated_lakes_are_gymnasiums(size: int, p: float, seed: int) -> None:
    assert list(frozen_lake.generate(size, p, seed)) == generate_random_map(size, p, seed)


# -- Catch and NChain, which EnvPool has -------------------------------------------------------------------------------


def test_catch_is_envpools() -> None:
    envpool = pytest.importorskip("envpool")
    pool = envpool.make_gymnasium("Catch-v0", num_envs=EPISODES, seed=3)
    expected, _ = pool.reset()
    sim = wl.Simulation("Catch-v0", EPISODES, "cpu", seed=1, autoreset="disabled")
    paddle = sim["Paddle"]
    assert set(np.unique(paddle.ball_x.numpy())) == set(range(5))
    paddle.ball_x.numpy()[:, 0] = expected[:, 0].argmax(axis=1)
    rng = np.random.default_rng(0)
    for step in range(9):
        action = rng.integers(0, 3, EPISODES, dtype=np.int32)
        expected, reward, terminated, truncated, _ = pool.step(action)
        sim.step(action)
        np.testing.assert_array_equal(paddle.sight.numpy()[:, 0], expected, err_msg=f"step {step}")
        np.testing.assert_array_equal(paddle.reward.numpy()[:, 0], reward)
        np.testing.assert_array_equal(sim.terminated.numpy(), terminated)
        np.testing.assert_array_equal(sim.truncated.numpy(), truncated)
    assert terminated.all() and set(reward.tolist()) == {-1.0, 1.0}
    pool.close()


def test_nchain_is_envpools() -> None:
    """Both walk at random: the same transitions with the same rewards, each as likely, and the same limit."""
    envpool = pytest.importorskip("envpool")
    worlds, steps = 200 if THOROUGH else 60, 1000
    pool = envpool.make_gymnasium("NChain-v0", num_envs=worlds, seed=3)
    theirs, _ = pool.reset()
    sim = wl.Simulation("NChain-v0", worlds, "cpu", seed=1, autoreset="disabled")
    walker = sim["Walker"]
    np.testing.assert_array_equal(walker.sight.numpy()[:, 0], theirs)
    rng = np.random.default_rng(0)
    expected: Counter = Counter()
    found: Counter = Counter()
    for _ in range(steps):
        action = (rng.random(worlds) < 0.3).astype(np.int32)
        before = walker.sight.numpy()[:, 0].copy()
        sim.step(action)
        found.update(
            zip(
                before.tolist(),
                action.tolist(),
                walker.sight.numpy()[:, 0].tolist(),
                walker.reward.numpy()[:, 0].tolist(),
                strict=True,
            )
        )
        after, reward, terminated, truncated, _ = pool.step(action)
        expected.update(zip(theirs.tolist(), action.tolist(), after.tolist(), reward.tolist(), strict=True))
        theirs = after
        np.testing.assert_array_equal(sim.terminated.numpy(), terminated)
        np.testing.assert_array_equal(sim.truncated.numpy(), truncated)
    assert truncated.all() and set(found) == set(expected)
    for pairs in (found, expected):
        counts, shares = [], []
        for state in range(5):
            for action in range(2):
                forward = sum(
                    n
                    for (s, a, after, _), n in pairs.items()
                    if (s, a) == (state, action) and after == min(state + 1, 4)
                )
                total = sum(n for (s, a, *_), n in pairs.items() if (s, a) == (state, action))
                counts.append(np.array([forward, total - forward]))
                shares.append(total * np.array([0.8, 0.2] if action == 0 else [0.2, 0.8]))
        assert_as_likely(counts, shares)
    pool.close()
