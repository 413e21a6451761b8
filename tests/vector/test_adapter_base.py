"""The base of the adapters: worlds, options and closing."""

import numpy as np
import pytest

from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.world_batch import WorldBatch, resolve_definition


class NumpyAdapter(VectorAdapter):
    BACKEND = "numpy"
    OPTIONS = frozenset({"render_mode"})

    def _connect(self, worlds, config):
        self.connected = worlds.num_envs, dict(config)


def test_an_adapter_creates_the_worlds_before_it_connects_the_library():
    adapter = NumpyAdapter("CartPole-v1", 3, device="python", seed=[1, 2, 3], config={"force": 5.0}, render_mode=None)
    assert adapter.connected == (3, {"force": 5.0})
    assert adapter.worlds.simulation.autoreset == "same_step" and adapter.worlds.batch.backend == "numpy"
    adapter.close()
    with pytest.raises(InputError, match="closed"):
        adapter.worlds.step(np.zeros(3, int))


def test_options_that_an_adapter_does_not_take_are_refused():
    with pytest.raises(TypeError, match="NumpyAdapter got an unexpected keyword argument 'exact'"):
        NumpyAdapter("CartPole-v1", 2, device="python", exact=True)


@pytest.mark.parametrize("seeds", [[3, 1], (3, 1), np.array([3, 1], np.uint64)])
def test_one_seed_per_world_starts_the_episodes_of_these_seeds(seeds):
    definition = resolve_definition("CartPole-v1")
    batch = WorldBatch.create(definition, 2, "python", seed=seeds)
    assert batch.simulation.pristine
    batch.start_episodes()
    first = batch.observations()
    batch.simulation.reset(seeds=np.array([3, 1]))
    assert np.array_equal(batch.observations(), first)
