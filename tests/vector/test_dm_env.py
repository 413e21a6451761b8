"""Worlds as dm_env environments: step types, discounts, specs."""

import importlib
import sys

import numpy as np
import pytest
from meadow import MEADOW, SKY

import worldloom as wl
from worldloom.core.base.errors import InputError

dm_env = pytest.importorskip("dm_env", reason="needs pip install dm-env")
tree = pytest.importorskip("tree", reason="needs pip install dm-env")

from worldloom.vector.adapters.dm_env import DmVectorEnv  # noqa: E402

FIRST, MID, LAST = (int(kind) for kind in (dm_env.StepType.FIRST, dm_env.StepType.MID, dm_env.StepType.LAST))


def test_an_episode_from_its_first_step_to_the_next_one():
    env = DmVectorEnv(SKY, 3, seed=0, device="python")
    start = env.reset()
    assert start.step_type.tolist() == [FIRST] * 3 and start.discount.tolist() == [1.0] * 3
    assert start.observation.env_id.tolist() == [0, 1, 2]
    falling = np.array([[-2.0], [0.5], [0.5]], np.float32)
    end = env.step(falling)
    assert end.step_type.tolist() == [LAST, MID, MID] and end.discount.tolist() == [0.0, 1.0, 1.0]
    np.testing.assert_allclose(
        end.observation.obs[0], start.observation.obs[0] - 2.5
    )  # what the old episode showed last
    restarted = env.step(falling)
    assert (
        restarted.step_type.tolist() == [FIRST, MID, MID]
        and restarted.reward[0] == 0.0
        and restarted.discount[0] == 1.0
    )
    assert restarted.observation.obs[0] >= 1.0


def test_an_episode_that_is_cut_off_keeps_its_discount():
    env = DmVectorEnv(SKY, 2, seed=0, device="python")
    env.reset()
    steps = [env.step(np.full((2, 1), 0.5, np.float32)) for _ in range(9)]
    assert [int(s.step_type[0]) for s in steps] == [MID] * 7 + [LAST, FIRST]
    assert all(s.discount.tolist() == [1.0, 1.0] for s in steps)


@pytest.mark.parametrize("world", ["CartPole-v1", SKY, MEADOW], ids=["CartPole", "Sky", "Meadow"])
def test_specs_hold_for_each_world(world):
    env = wl.make(world, 3, seed=0, env_type="dm", device="python")
    shown, spec = env.reset().observation, env.observation_spec()
    for i in range(3):
        tree.map_structure(lambda part, values, row=i: part.validate(values[row]), spec, shown)
    timestep = env.step(tree.map_structure(lambda part: np.stack([part.generate_value()] * 3), env.action_spec()))
    for reward, discount in zip(timestep.reward, timestep.discount, strict=True):
        env.reward_spec().validate(reward)
        env.discount_spec().validate(discount)
    env.close()


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "dm_env", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.dm_env")
    with pytest.raises(InputError, match="pip install"):
        importlib.import_module("worldloom.vector.adapters.dm_env")
