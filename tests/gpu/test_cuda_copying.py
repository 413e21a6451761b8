"""Pickled and deep-copied environments on a GPU continue as their originals do, bit for bit."""

import copy
import pickle

import pytest
import torch

import worldloom as wl

WORLDS = 4096


@pytest.mark.parametrize("world", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1"])
@pytest.mark.parametrize("env_type", ["gymnasium", "torch"])
def test_environments(world, env_type):
    env = wl.make(world, WORLDS, device="cuda:0", env_type=env_type, seed=0)
    env.action_space.seed(0)
    env.reset()
    env.step(torch.as_tensor(env.action_space.sample(), device="cuda:0"))
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(200):
        actions = torch.as_tensor(env.action_space.sample(), device="cuda:0")
        expected = env.step(actions)
        for other in copies:
            for found, value in zip(other.step(actions)[:4], expected[:4], strict=True):
                parts = zip(found, value, strict=True) if isinstance(value, tuple) else [(found, value)]
                assert all(torch.equal(torch.as_tensor(one), torch.as_tensor(two)) for one, two in parts)


def test_a_pickle_of_a_gpu_opens_on_the_cpu():
    simulation = wl.Simulation("CartPole-v1", 64, "cuda:0", seed=0)
    simulation.step(torch.ones(64, 1, dtype=torch.int32, device="cuda:0"))
    unpickle, (cls, id_, arguments, state, pristine) = simulation.__reduce_ex__(4)
    other = unpickle(cls, id_, {**arguments, "device": "cpu"}, state, pristine)
    assert torch.equal(other["Cart"].x.torch(), simulation["Cart"].x.torch().cpu())
