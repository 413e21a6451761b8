"""Environments of worlds whose agents come and go: padded rows with a mask."""

import copy
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from varying_agents import OFFICE, QUIT, ROWS, Office, Worker, work

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.gymnasium import WorldEnv, WorldVectorEnv
from worldloom.vector.env_layout import make_layout

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Skilled(Worker):
    skill: wl.Observation(1)


@wl.system
def open_workshop(world: Office):
    world.spawn(Skilled, number=7)


WORKSHOP = replace(
    OFFICE, id="Workshop-test", entities={Skilled: wl.UpTo(2, agents=True)}, reset=(open_workshop,), step=(work,)
)
"""A world with two observations."""


def test_spaces_have_the_capacity_and_a_mask() -> None:
    layout = make_layout(OFFICE)
    assert layout.observation_space == spaces.Box(-np.inf, np.inf, (ROWS, 2), np.float32)
    assert layout.action_space == spaces.MultiDiscrete([4] * ROWS)
    assert {info.key: info.shape for info in layout.infos} == {"served": (ROWS,), "active": (ROWS,)}
    observations = make_layout(WORKSHOP).observation_space
    assert isinstance(observations, spaces.Dict) and observations["active"] == spaces.MultiBinary((2,))


def test_masks_of_several_populations_have_the_names_of_their_kinds() -> None:
    both = replace(OFFICE, entities={**OFFICE.entities, Skilled: wl.UpTo(1, agents=True)})
    keys = [info.key for info in make_layout(both).infos]
    assert keys == ["Worker.served", "Skilled.served", "Worker.active", "Skilled.active"]


def test_populations_that_are_no_agents_are_refused() -> None:
    with pytest.raises(InputError, match=r"'Worker' .* varies, .*: register it with wl\.UpTo\(\.\.\., agents=True\)"):
        make_layout(replace(OFFICE, entities={Worker: wl.UpTo(ROWS)}))


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_rows_are_padded_with_zeros(backend: str) -> None:
    env = WorldVectorEnv(OFFICE, 2, seed=0, backend=backend)
    observations, infos = env.reset()
    as_numpy = np.asarray
    assert as_numpy(observations)[:, :, 0].tolist() == [[0.0, 1.0, 0.0]] * 2
    assert as_numpy(infos["active"]).tolist() == [[True, True, False]] * 2
    actions = np.array([[QUIT, 1, 99], [2, 1, 99]])  # the action of a free row is ignored
    actions = actions if backend == "numpy" else torch.as_tensor(actions)
    observations, rewards, terminations, truncations, infos = env.step(actions)
    assert as_numpy(observations)[0].tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]
    assert as_numpy(rewards).tolist() == [-4.0, 3.0]  # the sum over the agents that acted
    assert as_numpy(infos["active"]).tolist() == [[False, True, True], [True, True, True]]
    assert not as_numpy(terminations).any() and not as_numpy(truncations).any() and env.errors() == []


def test_the_mask_stands_beside_several_observations() -> None:
    env = WorldVectorEnv(WORKSHOP, 2, seed=0)
    observations, _ = env.reset()
    assert env.observation_space.contains(observations)
    assert observations["active"].tolist() == [[1, 0]] * 2 and observations["active"].dtype == np.int8


def test_final_values_and_their_mask() -> None:
    env = WorldVectorEnv(OFFICE, 1, seed=0, config={"max_steps": 1, "hires": 0})
    env.reset()
    observations, _, _, truncations, infos = env.step(np.array([[QUIT, 1, 0]]))
    assert truncations.tolist() == [True]
    assert infos["final_obs"][0].tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    assert infos["final_info"]["active"].tolist() == [[False, True, False]]
    assert infos["active"].tolist() == [[True, True, False]] and observations[0, :, 0].tolist() == [0.0, 1.0, 0.0]


def test_copies_of_environments_stay_equal() -> None:
    env = WorldVectorEnv(OFFICE, 3, seed=0)
    env.reset()
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    other = copy.deepcopy(env)
    for _ in range(30):
        actions = env.action_space.sample()
        one, two = env.step(actions), other.step(actions)
        assert np.array_equal(one[0], two[0]) and np.array_equal(one[4]["active"], two[4]["active"])


def test_one_world_as_a_gymnasium_environment() -> None:
    env: gymnasium.Env = WorldEnv(OFFICE)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation) and info["active"].tolist() == [True, True, False]


def test_a_capacity_of_one_has_no_entity_axis() -> None:
    alone = replace(OFFICE, entities={Worker: wl.UpTo(1, agents=True)}, step=(work,))
    env = WorldVectorEnv(alone, 2, seed=0, config={"staff": 1})
    observations, infos = env.reset()
    assert observations.shape == (2, 2) and infos["active"].tolist() == [True, True]
    _, _, terminations, _, infos = env.step(np.array([QUIT, 0]))
    assert infos["active"].tolist() == [False, True] and not terminations.any()


def test_other_interfaces_have_padded_rows() -> None:
    dm = pytest.importorskip("worldloom.vector.adapters.dm_env").DmVectorEnv(OFFICE, 2, seed=0)
    assert dm.reset().observation.obs.shape == (2, ROWS, 2)
    sb3 = pytest.importorskip("worldloom.vector.adapters.stable_baselines3").Sb3VectorEnv(OFFICE, 2, seed=0)
    assert sb3.reset().shape == (2, ROWS, 2)
    infos = sb3.step(np.zeros((2, ROWS), np.int64))[3]
    assert infos[0]["active"].tolist() == [True] * ROWS


def test_interfaces_of_tensors_have_padded_rows() -> None:
    torchrl = pytest.importorskip("worldloom.vector.adapters.torchrl").TorchRLVectorEnv(WORKSHOP, 2, seed=0)
    data = torchrl.rollout(3)
    assert data["badge"].shape == (2, 3, 2, 2) and data["active"][:, 0].tolist() == [[True, False]] * 2
    skrl = pytest.importorskip("worldloom.vector.adapters.skrl").SkrlVectorEnv(OFFICE, 2, seed=0)
    observations, infos = skrl.reset()
    assert observations.shape == (2, ROWS * 2) and infos["active"].shape == (2, ROWS)


def test_a_pool_of_worlds_has_padded_rows() -> None:
    pool = wl.make(OFFICE, num_envs=4, batch_size=2, seed=0)
    pool.async_reset()
    observations, *_, infos = pool.recv()
    assert observations.shape == (2, ROWS, 2) and infos["active"].shape == (2, ROWS)


@pytest.mark.parametrize("orders", [np.zeros((2, ROWS + 1), np.int64), "rest"], ids=["shape", "text"])
def test_errors_name_actions_by_their_kind(orders):
    env = wl.make(OFFICE, num_envs=2, seed=0)
    with pytest.raises(wl.InputError, match=r"^Worker\.order takes int32 of shape \(2, 3\)"):
        env.step(orders)
