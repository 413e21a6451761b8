"""Objects that own threads, processes or memory cannot be copied, and stay usable."""

import copy
import gc
import pickle

import cloudpickle
import numpy as np
import pytest

import worldloom as wl
from worldloom.vector.adapters.gymnasium import WorldEnv
from worldloom.vector.process_pool.pool import ProcessPool
from worldloom.vector.world_pool import WorldPool

WAYS = (copy.copy, copy.deepcopy, pickle.dumps, cloudpickle.dumps)


def refuse_all(owner):
    for way in WAYS:
        with pytest.raises(wl.InputError, match=f"a {type(owner).__name__} cannot be (copied|pickled): make another"):
            way(owner)
    gc.collect()


def test_a_pool_of_processes_goes_on_after_a_refused_copy():
    with ProcessPool("CartPole-v1", 2, num_workers=1, seed=0) as pool:
        pool.reset()
        refuse_all(pool)
        assert pool.step(np.zeros(2, np.int64))[0].shape == (2, 4)


def test_a_pool_of_worlds_goes_on_after_a_refused_copy():
    with WorldPool("CartPole-v1", 4, 2, device="python", seed=0) as pool:
        pool.async_reset()
        refuse_all(pool)
        assert pool.recv()[0].shape == (2, 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: wl.Simulation("CartPole-v1", 2, "python"),
        lambda: wl.make("CartPole-v1", 2, device="python"),
        lambda: WorldEnv("CartPole-v1", device="python"),
    ],
)
def test_simulations_and_environments_refuse_too(make):
    refuse_all(make())
