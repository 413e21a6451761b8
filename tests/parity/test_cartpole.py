"""CartPole-v1 is Gymnasium's: same actions and same start states give the same episodes."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import worldloom as wl

EPISODES = 1000
STATE = ("x", "velocity", "angle", "spin")


@pytest.fixture(scope="module")
def gym():
    env = gymnasium.make("CartPole-v1")
    yield env
    env.close()


def start_from(sim: wl.Simulation, states: np.ndarray) -> None:
    """Write start states, shape (num_worlds, 4), into the columns."""
    for place, name in enumerate(STATE):
        sim["Cart"][name].numpy()[:, 0] = states[:, place]


def test_a_thousand_episodes_step_by_step(gym) -> None:
    rng = np.random.default_rng(0)
    starts = rng.uniform(-0.05, 0.05, (EPISODES, 4)).astype(np.float32)
    actions = rng.integers(0, 2, (500, EPISODES, 1), dtype=np.int32)
    # Half of the worlds push the same way for a while, for episodes of many lengths and both kinds of failure.
    actions[:, ::2] = np.repeat(actions[::10, ::2], 10, axis=0)
    sim = wl.Simulation("CartPole-v1", EPISODES, "cpu", seed=1, autoreset="disabled")
    start_from(sim, starts)
    seen, rewards, terminated, truncated = [], [], [], []
    for action in actions:
        sim.step(action)
        seen.append(sim["Cart"].sight.numpy()[:, 0].copy())
        rewards.append(sim["Cart"].reward.numpy()[:, 0].copy())
        terminated.append(sim.terminated.numpy().copy())
        truncated.append(sim.truncated.numpy().copy())
    lengths = []
    for world in range(EPISODES):
        gym.reset(seed=world)
        gym.unwrapped.state = starts[world].astype(np.float64)
        for step in range(500):
            observation, reward, end, cut, _ = gym.step(int(actions[step, world, 0]))
            np.testing.assert_allclose(
                seen[step][world], observation, rtol=1e-5, atol=1e-5, err_msg=f"world {world}, step {step}"
            )
            assert (rewards[step][world], terminated[step][world], truncated[step][world]) == (reward, end, cut), (
                world,
                step,
            )
            if end or cut:
                break
        lengths.append(step + 1)
    assert min(lengths) < 12 and max(lengths) > 60


def test_every_step_of_long_episodes_and_the_cut_at_500() -> None:
    """One step from Gymnasium's own state, all along episodes that a balancing policy brings to their end."""
    worlds = 20
    gyms = [gymnasium.make("CartPole-v1") for _ in range(worlds)]
    observations = np.array([env.reset(seed=k)[0] for k, env in enumerate(gyms)])
    sim = wl.Simulation("CartPole-v1", worlds, "cpu", seed=1)
    for step in range(500):
        before = np.array([env.unwrapped.state for env in gyms])
        start_from(sim, before)
        action = (
            observations[:, 2] + 0.5 * observations[:, 3] + 0.05 * observations[:, 0] + 0.1 * observations[:, 1] > 0
        ).astype(np.int32)
        sim.step(action)
        results = [env.step(int(a)) for env, a in zip(gyms, action, strict=True)]
        observations = np.array([r[0] for r in results])
        ours = sim["Cart"].final_sight if step == 499 else sim["Cart"].sight
        np.testing.assert_allclose(ours.numpy()[:, 0], observations, rtol=1e-5, atol=1e-5, err_msg=f"step {step}")
        np.testing.assert_array_equal(sim["Cart"].reward.numpy()[:, 0], [r[1] for r in results])
        np.testing.assert_array_equal(sim.terminated.numpy(), [r[2] for r in results])
        np.testing.assert_array_equal(sim.truncated.numpy(), [r[3] for r in results])
    assert sim.truncated.numpy().all() and not sim.terminated.numpy().any()
    assert (np.abs(sim["Cart"].sight.numpy()) <= 0.05).all(), "a new episode has begun"


def test_start_states_have_gymnasiums_range() -> None:
    sim = wl.Simulation("CartPole-v1", 5000, "cpu", seed=3)
    starts = sim["Cart"].sight.numpy()[:, 0]
    assert (np.abs(starts) <= 0.05).all()
    np.testing.assert_allclose(starts.mean(axis=0), 0.0, atol=2e-3)
    np.testing.assert_allclose(starts.std(axis=0), 0.1 / np.sqrt(12.0), rtol=0.03)
    np.testing.assert_allclose(np.corrcoef(starts.T), np.eye(4), atol=0.06)
