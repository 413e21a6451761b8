"""Names, errors, infos and arguments of EnvPool's module that programs use."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import worldloom.envpool as envpool
from worldloom.core.base.errors import InputError
from worldloom.envpool import gym_v21

THEIRS = pytest.mark.filterwarnings("ignore::UserWarning")  # EnvPool lowers the precision of its own bounds


def test_names():
    assert envpool.__version__ == gym_v21.__version__ and int(envpool.__version__.split(".")[0]) >= 1
    for name in ("make", "make_dm", "make_gym", "make_gymnasium", "make_spec", "register", "list_all_envs"):
        assert callable(getattr(envpool.registration, name))
    protocol = envpool.python.protocol
    for name in ("EnvSpec", "EnvPool", "DMEnvPool", "GymnasiumEnvPool"):
        assert getattr(protocol, name) is getattr(envpool, name)
    assert "Pong-v5" in envpool.registration.registry.specs
    assert envpool.registration.registry.envpools["Ant-v5"].keys() == {"dm", "gymnasium"}


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (AssertionError, {"seed": 2**31}),
        (AssertionError, {"seed": [1, 2]}),
        (AssertionError, {"num_envs": 2, "batch_size": 3}),
        (AssertionError, {"num_envs": 0}),
        (AssertionError, {"max_num_players": 0}),
        (AssertionError, {"env_type": "atari"}),
        (AssertionError, {"task_id": "Combat-v9"}),
        (ValueError, {"render_mode": "ascii"}),
        (ValueError, {"from_pixels": True}),
        (ValueError, {"gym_reset_return_info": False}),
        (TypeError, {"frame_stak": 3}),
    ],
)
def test_errors_are_those_of_envpool_and_of_worldloom(kind, arguments):
    complete = {"task_id": "CartPole-v1", "env_type": "gym", **arguments}
    with pytest.raises(kind) as raised:
        envpool.make(**complete)
    assert isinstance(raised.value, InputError)
    theirs = pytest.importorskip("envpool", reason="its errors are compared")
    with pytest.raises(kind):
        theirs.make(**complete)


def test_errors_of_use_are_runtime_errors():
    pool = envpool.make_gym("CartPole-v1", num_envs=2)
    pool.reset()
    for call in (lambda: pool.render(), lambda: pool.step(np.zeros((2, 3), int))):
        with pytest.raises(RuntimeError) as raised:
            call()
        assert isinstance(raised.value, InputError)


class Spec:
    """A spec with EnvPool's interface."""

    @staticmethod
    def gen_config(**arguments):
        return arguments

    def __init__(self, config):
        self.config = config


class Pool:
    def __init__(self, spec):
        self.spec = spec


def test_tasks_can_be_registered(monkeypatch):
    registry = envpool.registration.registry
    monkeypatch.setattr(registry, "_specs", {})
    monkeypatch.setattr(registry, "_classes", {})
    envpool.register("Mine-v0", __name__, "Spec", "Pool", "Pool", aliases=["Also-v0"], size=3)
    assert {"Mine-v0", "Also-v0", "CartPole-v1"} <= set(envpool.list_all_envs())
    pool = envpool.make_dm("Also-v0", num_envs=2)
    assert isinstance(pool, Pool) and pool.spec.config == {"size": 3, "num_envs": 2}
    for taken in ("Mine-v0", "CartPole-v1"):
        with pytest.raises(AssertionError, match="exists already"):
            envpool.register(taken, __name__, "Spec", "Pool", "Pool")


def test_the_list_of_tasks_builds_no_world():
    program = """
import worldloom.envpool as envpool
from worldloom.core.registry import registry
ids = envpool.list_all_envs()
assert not registry._REGISTRY, registry._REGISTRY
assert {"CartPole-v1", "HideSeek-v0", "LocomotionAnt-v0", "Pong-v5"} <= set(ids) and "CovidEconomy-v0" not in ids
"""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "WORLDLOOM_DATA": "/nonexistent", "PATH": ""}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=300)


def test_the_info_of_acrobot_is_the_two_angles():
    pool = envpool.make_gym("Acrobot-v1", num_envs=3, seed=5)
    observations, info = pool.reset()
    for _ in range(3):
        assert info["state"].shape == (3, 2) and info["state"].dtype == np.float32
        pairs = np.stack([np.cos(info["state"]), np.sin(info["state"])], -1).reshape(3, 4)
        np.testing.assert_allclose(observations[:, :4], pairs, atol=1e-6)
        observations, *_, info = pool.step(np.zeros(3, int))
    assert envpool.make_spec("Acrobot-v1").state_array_spec["info:state"].shape == [2]


@THEIRS
@pytest.mark.parametrize(("task", "stack"), [("HalfCheetah-v5", 3), ("CheetahRun-v1", 2)])
def test_frame_stack_as_in_envpool(task, stack):
    pytest.importorskip("mujoco")
    pools = [envpool.make_gym(task, num_envs=2, seed=3, frame_stack=stack, max_episode_steps=4)]
    if task.endswith("-v1"):
        pools[0].close()
        pools = [envpool.make_gym(task, num_envs=2, seed=3, frame_stack=stack)]
    pools += [module.make_gym(task, num_envs=2, frame_stack=stack) for module in their_module()]
    spaces = [pool.observation_space for pool in pools]
    parts = [space.spaces if isinstance(space, gymnasium.spaces.Dict) else {"obs": space} for space in spaces]
    for their in parts[1:]:
        assert {key: part.shape for key, part in parts[0].items()} == {key: part.shape for key, part in their.items()}
    assert all(pool.config["frame_stack"] == stack for pool in pools)
    for pool in pools:
        follow_stacks(pool, stack)
    ours = pools[0].spec.state_array_spec
    for pool in pools[1:]:
        for key, spec in pool.spec.state_array_spec.items():
            if key.startswith("obs"):
                assert (ours[key].dtype, ours[key].shape) == (spec.dtype, list(spec.shape))


def their_module():
    try:
        import envpool as theirs
    except ImportError:
        return []
    return [theirs]


def parts_of(observations):
    return observations if isinstance(observations, dict) else {"obs": observations}


def follow_stacks(pool, stack):
    """Every stack continues the one before; the first of an episode repeats one observation."""
    before = parts_of(pool.reset()[0])
    for values in before.values():
        assert values.shape[:2] == (2, stack) and (values == values[:, :1]).all()
    generator = np.random.default_rng(0)
    for _ in range(7):
        actions = generator.uniform(-1, 1, (2, *pool.action_space.shape))
        observations, *_, info = pool.step(actions)
        for key, values in parts_of(observations).items():
            for k in range(2):
                if info["elapsed_step"][k] == 0:
                    assert (values[k] == values[k, 0]).all()
                else:
                    assert (values[k, :-1] == before[key][k, 1:]).all() and (values[k, -1] != values[k, -2]).any()
        before = {key: values.copy() for key, values in parts_of(observations).items()}


def test_frame_stack_of_some_environments_and_in_every_mode():
    pytest.importorskip("mujoco")
    pool = envpool.make_gym("InvertedPendulum-v5", num_envs=3, frame_stack=2, seed=1)
    first, _ = pool.reset()
    some, *_ = pool.step(np.ones((1, 1)), np.array([2]))
    assert (some[0, 0] == first[2, 1]).all() and (some[0, 1] != first[2, 1]).any()
    everything, *_ = pool.step(np.zeros((3, 1)))
    assert (everything[2, 0] == some[0, 1]).all() and (everything[:2, 0] == first[:2, 1]).all()
    asynchronous = envpool.make_dm("InvertedPendulum-v5", num_envs=4, batch_size=2, frame_stack=2)
    asynchronous.async_reset()
    for _ in range(4):
        step = asynchronous.recv()
        assert step.observation.obs.shape == (2, 2, 4)
        asynchronous.send(np.zeros((2, 1)), step.observation.env_id)
    asynchronous.close()
    with pytest.raises(InputError, match="frame_stack must be a whole number of 1 or more"):
        envpool.make_gym("InvertedPendulum-v5", frame_stack=0)


@THEIRS
@pytest.mark.parametrize("task", ["AirRaid-v5", "Pooyan-v5"])
def test_images_of_games_have_210_lines(task):
    pytest.importorskip("ale_py", reason="it holds the ROMs")
    settings = {"render_mode": "rgb_array", "noop_max": 1, "use_fire_reset": False}
    pools = [module.make_gym(task, **settings) for module in (envpool, *their_module())]
    images = []
    for pool in pools:
        pool.reset()
        pool.step(np.zeros(1, int))
        images.append(np.asarray(pool.render()))
        assert images[-1].shape == (1, 210, 160, 3)
    for image in images[1:]:
        np.testing.assert_array_equal(images[0], image)
