"""``make``: the result for each kind of argument, and the errors for invalid ones."""

import numpy as np
import pytest
from gymnasium import spaces
from meadow import SKY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.world_pool import WorldPool


def test_kinds():
    assert isinstance(wl.make("CartPole-v1", 2, device="python"), WorldVectorEnv)
    assert isinstance(wl.make(SKY, 2, device="python"), WorldVectorEnv)
    assert wl.make(SKY, 2, device="python", env_type="torch").batch.backend == "torch"
    assert isinstance(wl.make(SKY, 4, device="python", batch_size=4), WorldVectorEnv), (
        "a batch of all worlds is synchronous"
    )
    with wl.make(SKY, 4, device="python", batch_size=2) as pool:
        assert isinstance(pool, WorldPool)


def test_dm_env():
    dm_env = pytest.importorskip("dm_env")
    assert isinstance(wl.make(SKY, 2, device="python", env_type="dm"), dm_env.Environment)


def test_configuration_for_all_and_for_each():
    env = wl.make("CartPole-v1", 3, device="python", force=[1.0, 2.0, 3.0], max_steps=4)
    assert env.simulation.world.force.numpy().tolist() == [1.0, 2.0, 3.0]
    assert env.simulation.world.max_steps.numpy().tolist() == [4]


def test_threads_and_seeds_reach_the_simulation():
    env = wl.make("CartPole-v1", 8, num_threads=2, seed=11)
    assert len(env.simulation.slices) == 2
    assert env.simulation.world.seed.numpy().tolist() == [11] * 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "CartPole-v7"}, "there is no world 'CartPole-v7'; did you mean CartPole-v"),
        ({"id": SKY, "env_type": "gym"}, "env_type must be 'gymnasium', 'torch' or 'dm', not 'gym'"),
        ({"id": SKY, "batch_size": 5}, r"batch_size must be from 1 to num_envs \(4\), not 5"),
        ({"id": SKY, "batch_size": 0}, r"batch_size must be from 1 to num_envs \(4\), not 0"),
        ({"id": SKY, "batch_size": 2.0}, r"batch_size must be from 1 to num_envs \(4\), not 2.0"),
        ({"id": SKY, "batch_size": 3}, r"num_envs \(4\) must be a multiple of batch_size \(3\)"),
        ({"id": SKY, "batch_size": 2, "env_type": "torch"}, "a pool .* supports only env_type='gymnasium'"),
        ({"id": SKY, "batch_size": 2, "autoreset": "disabled"}, "a pool resets its worlds automatically"),
        ({"id": SKY, "autoreset": "later"}, "autoreset must be one of same_step, next_step, disabled, not 'later'"),
        ({"id": SKY, "render_mode": "rgb_array"}, "world 'Sky-test' has no renderer"),
        ({"id": SKY, "push": 3.0}, "world 'Sky-test' has no configuration 'push': it has .*pull"),
        ({"id": SKY, "num_envs": 0}, "num_envs must be a whole number of 1 or more, not 0"),
        ({"id": SKY, "seed": [1, 2]}, r"seeds are one whole number, or one per world, shape \(4,\)"),
        ({"id": SKY, "seed": 0.5}, "seeds are one whole number"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        wl.make(**{"num_envs": 4, "device": "python", **arguments})


def test_specs_come_without_a_world():
    spec = wl.make_spec("CartPole-v1")
    assert (spec.id, spec.max_steps, spec.action_space) == ("CartPole-v1", 500, spaces.Discrete(2))
    assert spec.observation_space.shape == (4,)
    assert spec.config["force"] == 10.0
    assert "max_steps" not in spec.config
    assert "pole" in spec.doc
    assert wl.make_spec(SKY).config == {"pull": np.float32(0.5)}


def test_every_registered_world_is_listed():
    assert "CartPole-v1" in wl.list_all_envs()
    assert wl.list_all_envs() == sorted(wl.list_all_envs())
    assert {wl.make_spec(id_).id for id_ in wl.registered()} == set(wl.registered()) < set(wl.list_all_envs())


@pytest.mark.parametrize("id", ["worldloom/CartPole-v1", "gymnasium:worldloom/Pong-v5"])
def test_gymnasiums_name_of_a_world_is_explained(id):
    world = id.rpartition("/")[2]
    with pytest.raises(InputError, match=f"is Gymnasium's name of the world '{world}': write {world}$"):
        wl.definition(id)


@pytest.mark.parametrize("id", ["LunarLander-v3", "gymnasium:LunarLander-v3", "gymnasium:Elsewhere-v0"])
def test_an_environment_of_gymnasium_is_no_world(id):
    """Commands and trainers take worlds, and their error names what takes the environment."""
    with pytest.raises(InputError) as error:
        wl.definition(id)
    name = id.removeprefix("gymnasium:")
    assert str(error.value).startswith(f"'{name}' is an environment of Gymnasium and not a world: wl.make('gymnasium:")
    assert "ProcessPool" in str(error.value) and "docs/pool.md" in str(error.value)


def test_ids_that_are_close_to_a_world():
    for id, hint in (
        ("CartPole-v7", "did you mean CartPole-v"),
        ("MiniGrid-Empty-5x5-v0", "`worldloom list` shows all worlds. For environments of packages for Gymnasium see"),
    ):
        with pytest.raises(InputError, match=f"there is no world '{id}'; {hint}"):
            wl.definition(id)
