"""Worlds in Stable-Baselines3: episode ends, truncation, attributes, seeds, and PPO."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldloom.core.base.errors import InputError

sb3 = pytest.importorskip("stable_baselines3", reason="needs pip install stable-baselines3")

from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

from worldloom.vector.adapters.stable_baselines3 import Sb3VectorEnv  # noqa: E402


@pytest.fixture
def env():
    made = Sb3VectorEnv("CartPole-v1", 4, seed=0)
    yield made
    made.close()


def until_one_ends(env, action: int):
    """Push all carts to one side until an episode ends; the last step, and the observations before it."""
    before = env.reset()
    for _ in range(600):
        after, rewards, dones, infos = env.step(np.full(env.num_envs, action))
        if dones.any():
            return before, after, rewards, dones, infos
        before = after
    raise AssertionError("no episode ended")


def test_an_episode_that_comes_to_its_end_hands_over_its_last_observation(env):
    before, after, rewards, dones, infos = until_one_ends(env, 1)
    ended = int(dones.argmax())
    last = infos[ended]["terminal_observation"]
    assert infos[ended]["TimeLimit.truncated"] is False
    assert abs(last[2]) > np.radians(12.0) > abs(before[ended][2])  # the pole fell in this very step
    assert np.abs(after[ended]).max() <= 0.05  # and the world stands at a new start
    np.testing.assert_allclose(last[0], before[ended][0] + 0.02 * before[ended][1], rtol=1e-5)
    assert rewards[ended] == 1.0
    assert [set(info) for info, done in zip(infos, dones, strict=True) if not done] == [set()] * int((~dones).sum())


def test_an_episode_that_is_cut_off_says_so(env):
    env.set_attr("max_steps", 3)
    *_, dones, infos = until_one_ends(env, 1)
    assert dones.all()
    assert all(info["TimeLimit.truncated"] is True and "terminal_observation" in info for info in infos)


def test_the_attributes_of_a_world_are_its_configuration(env):
    assert env.get_attr("force") == [10.0] * 4
    env.set_attr("force", 2.0, indices=[1, 3])
    assert env.get_attr("force") == [10.0, 2.0, 10.0, 2.0]
    assert env.get_attr("force", indices=1) == [2.0]
    velocities = env.reset()[:, 1]
    pushed = env.step(np.ones(4, int))[0][:, 1] - velocities
    assert (pushed[[0, 2]] > 4 * pushed[[1, 3]]).all()
    assert env.get_attr("num_envs", indices=[0]) == [4]
    assert not env.has_attr("no_such_thing")
    with pytest.raises(InputError, match="its configuration"):
        env.set_attr("num_envs", 5)
    with pytest.raises(InputError, match="no method 'reverse'"):
        env.env_method("reverse")


def test_seeds_are_kept_until_the_next_reset_and_then_used_once(env):
    env.seed(7)
    first = env.reset()
    second = env.reset()
    env.seed(7)
    np.testing.assert_array_equal(env.reset(), first)
    assert not np.array_equal(first, second)


def test_its_own_wrappers_see_whole_episodes(env):
    wrapped = VecNormalize(VecMonitor(env))
    wrapped.reset()
    lengths, steps = [], np.zeros(4, int)
    for _ in range(40):
        _, _, dones, infos = wrapped.step(np.ones(4, int))
        steps += 1
        for i in np.flatnonzero(dones):
            assert infos[i]["episode"]["l"] == infos[i]["episode"]["r"] == steps[i]
            lengths.append(steps[i])
            steps[i] = 0
    assert len(lengths) >= 8


def test_ppo_learns_to_balance(one_thread):
    env = Sb3VectorEnv("CartPole-v1", 16, seed=1)
    model = sb3.PPO(
        "MlpPolicy",
        env,
        n_steps=32,
        batch_size=128,
        n_epochs=6,
        learning_rate=3e-3,
        gae_lambda=0.8,
        gamma=0.98,
        seed=1,
        device="cpu",
    )
    before, _ = evaluate_policy(model, VecMonitor(env), n_eval_episodes=16)
    model.learn(16 * 32 * 8)
    after, _ = evaluate_policy(model, VecMonitor(env), n_eval_episodes=16)
    assert after > before + 20
    env.close()


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.stable_baselines3")
    with pytest.raises(InputError, match="pip install 'stable-baselines3"):
        importlib.import_module("worldloom.vector.adapters.stable_baselines3")


def get_action_masks(env):
    """As sb3-contrib, whose MaskablePPO calls it before every step."""
    return np.stack(env.env_method("action_masks"))


@pytest.mark.parametrize(("world", "choices"), [("HanabiVerySmall-v0", 22), ("Taxi-v3", 6)])
def test_masks_for_maskable_ppo(world, choices):
    with Sb3VectorEnv(world, 3, device="python", seed=0) as env:
        env.reset()
        assert env.has_attr("action_masks") and VecMonitor(env).has_attr("action_masks")
        (table, _), *_ = env.worlds.simulation.definition.actions().values()
        for _ in range(5):
            masks = get_action_masks(VecMonitor(env))
            assert masks.dtype == bool and masks.shape == (3, choices)
            seen = env.worlds.simulation[table].action_mask.numpy().reshape(3, choices)
            np.testing.assert_array_equal(masks, seen != 0)
            by_element = masks.reshape(3, -1, np.max(env.action_space.nvec if choices == 22 else choices))
            env.step(by_element.argmax(axis=2).reshape(3, *env.action_space.shape))
        assert env.worlds.errors() == []
        assert len(env.env_method("action_masks", indices=[1])) == 1
    unmasked = Sb3VectorEnv("CartPole-v1", 2, device="python")
    assert not unmasked.has_attr("action_masks")
    with pytest.raises(AttributeError, match=r"'CartPole-v1' has no mask of its actions.*so use PPO"):
        unmasked.env_method("action_masks")


def test_maskable_ppo_of_sb3_contrib():
    contrib = pytest.importorskip("sb3_contrib", reason="needs pip install sb3-contrib")
    env = Sb3VectorEnv("HanabiVerySmall-v0", 4, seed=0)
    contrib.MaskablePPO("MultiInputPolicy", env, n_steps=16, batch_size=32, device="cpu", seed=0).learn(128)
    assert env.worlds.errors() == [], "no forbidden move was made"


def test_the_example_of_maskable_ppo_in_the_documentation():
    pytest.importorskip("sb3_contrib", reason="needs pip install sb3-contrib")
    page = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text()
    (code,) = re.findall(r"^```python no-run\n(from sb3_contrib .*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert code.count("100_000") == 1
    names: dict[str, Any] = {}
    exec(code.replace("100_000", "256"), names)
    assert names["model"].num_timesteps == 256 and names["env"].worlds.errors() == []
