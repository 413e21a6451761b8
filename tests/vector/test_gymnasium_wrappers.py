"""Gymnasium's vector wrappers around worlds."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import vector as wrappers
from meadow import MEADOW, SKY

import worldloom as wl
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

N = 3
AUTORESETS = ["same_step", "next_step"]


def sky(**options):
    return WorldVectorEnv(SKY, N, device="python", seed=0, **options)


def run(env, steps=30):
    """The results of random steps."""
    env.reset(seed=0)
    env.action_space.seed(0)
    return [env.step(env.action_space.sample()) for _ in range(steps)]


@pytest.mark.parametrize("autoreset", AUTORESETS)
def test_episode_statistics(autoreset):
    plain, counted = run(sky(autoreset=autoreset)), run(wrappers.RecordEpisodeStatistics(sky(autoreset=autoreset)))
    total, length, ended, skip = np.zeros(N), np.zeros(N, int), 0, np.zeros(N, bool)
    for (_, rewards, terminations, truncations, _), (*_, infos) in zip(plain, counted, strict=True):
        total, length = np.where(skip, 0.0, total + rewards), np.where(skip, 0, length + 1)
        over = terminations | truncations
        assert ("episode" in infos) == over.any()
        if over.any():
            assert np.array_equal(infos["_episode"], over)
            assert infos["episode"]["l"][over].tolist() == length[over].tolist()
            np.testing.assert_allclose(infos["episode"]["r"][over], total[over], rtol=1e-5)
        ended += over.sum()
        if autoreset == "next_step":
            skip = over
        else:
            total, length = np.where(over, 0.0, total), np.where(over, 0, length)
    assert ended > 3


def test_normalised_observations():
    plain, outcomes = (
        run(sky(autoreset="next_step"), 300),
        run(wrappers.NormalizeObservation(sky(autoreset="next_step")), 300),
    )
    raw, seen = np.concatenate([o[0] for o in plain]), np.concatenate([o[0] for o in outcomes[100:]])
    assert abs(seen.mean()) < 0.3 < abs(raw.mean())
    assert 0.5 < seen.std() < 2.0


@pytest.mark.parametrize("autoreset", AUTORESETS)
def test_normalised_rewards(autoreset):
    plain, outcomes = run(sky(autoreset=autoreset), 100), run(wrappers.NormalizeReward(sky(autoreset=autoreset)), 100)
    assert 0.0 < np.std([o[1] for o in outcomes]) < np.std([o[1] for o in plain])


def test_clipped_rewards():
    rewards = np.concatenate([o[1] for o in run(wrappers.ClipReward(sky(), -0.25, 0.25))])
    assert (rewards.min(), rewards.max()) == (-0.25, 0.25)


def test_clipped_actions():
    clipped, plain = wrappers.ClipAction(sky()), sky()
    assert np.array_equal(
        clipped.step(np.full((N, 1), 9.0, np.float32))[0], plain.step(np.full((N, 1), 2.0, np.float32))[0]
    )


def test_rescaled_actions():
    env = wrappers.RescaleAction(sky(), min_action=np.array([-1.0], np.float32), max_action=np.array([1.0], np.float32))
    assert env.single_action_space == gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    env.reset(seed=5)
    plain = sky()
    plain.reset(seed=5)
    assert np.allclose(env.step(np.full((N, 1), 0.5, np.float32))[0], plain.step(np.full((N, 1), 1.0, np.float32))[0])


def test_flattened_observations():
    """A Dict with observations of every kind becomes one vector."""
    env = wrappers.FlattenObservation(WorldVectorEnv(MEADOW, N, device="python", autoreset="next_step"))
    for observations, *_ in run(env):
        assert observations in env.observation_space
        assert observations.shape == (N, 6 + 8 + 5 + 2 + 3)


def test_flattened_choices():
    env = wrappers.FlattenObservation(gymnasium.make_vec("worldloom/FrozenLake-v1", num_envs=N, device="python"))
    for observations, *_ in run(env, 60):
        assert observations.sum(1).tolist() == [1] * N


def test_infos_as_lists():
    env = wrappers.DictInfoToList(WorldVectorEnv(MEADOW, N, device="python"))
    ended = 0
    for _, _, terminations, truncations, infos in run(env):
        assert [set(info) >= {"day", "nectar"} for info in infos] == [True] * N
        over = terminations | truncations
        assert ["final_obs" in info for info in infos] == over.tolist()
        ended += over.sum()
    assert ended > 3


def test_numpy_to_torch():
    pytest.importorskip("array_api_compat")
    env = wrappers.NumpyToTorch(sky())
    observations, _ = env.reset(seed=0)
    assert isinstance(observations, torch.Tensor)
    plain = sky()
    plain.reset(seed=0)
    got, expected = env.step(torch.ones(N, 1)), plain.step(np.ones((N, 1)))
    assert all(np.array_equal(one.numpy(), two) for one, two in zip(got[:4], expected[:4], strict=True))


def test_videos(tmp_path):
    pytest.importorskip("moviepy")
    env = WorldVectorEnv(MEADOW, N, device="python", render_mode="rgb_array")
    env = wrappers.RecordVideo(env, str(tmp_path), video_length=4, step_trigger=lambda step: step == 0)
    run(env, 6)
    env.close()
    assert list(tmp_path.glob("*.mp4"))


def test_wrappers_on_the_cpu_device():
    env = wrappers.RecordEpisodeStatistics(
        wrappers.NormalizeObservation(wl.make("CartPole-v1", N, seed=0, autoreset="next_step"))
    )
    assert sum("episode" in o[4] for o in run(env, 60)) > 2
