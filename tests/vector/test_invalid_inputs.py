"""Invalid arguments raise one clear sentence, and nothing runs."""

import math
import re
import reprlib

import numpy as np
import pytest

import worldloom as wl
from worldloom.vector.adapters.gymnasium import WorldEnv, WorldVectorEnv
from worldloom.vector.process_pool import ProcessPool
from worldloom.vector.world_pool import WorldPool


class Ball(wl.Entity):
    height: float = 0.0
    kick: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1)


class Room(wl.World):
    force: wl.Config = 1.0
    reach: wl.Config = math.inf
    rounds: wl.Config = 3


@wl.system
def fly(ball: Ball, world: Room):
    ball.height += world.force
    ball.sight[0] = ball.height


def define(**changes):
    return wl.Definition(**{"id": "InvalidInputs-v0", "world": Room, "entities": {Ball: 1}, "step": (fly,), **changes})


ROOM = define()


def make(**arguments):
    return wl.make(**{"id": ROOM, "num_envs": 3, "device": "python", **arguments})


def environment():
    import gymnasium

    return gymnasium.make("CartPole-v1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": None}, "make takes the id of a world, its definition, or a function .*, not None"),
        ({"id": 5}, "make takes the id of a world"),
        ({"num_envs": None}, "num_envs must be a whole number of 1 or more, not None"),
        ({"num_envs": 2**31}, "num_envs must be at most 2,147,483,647, not 2147483648"),
        ({"num_envs": "3"}, "num_envs must be a whole number"),
        ({"num_envs": None, "batch_size": 2}, "num_envs must be a whole number"),
        (
            {"num_envs": 4, "batch_size": 2, "num_threads": -1},
            "^num_threads must be a whole number of 1 or more, not -1",
        ),
        ({"num_threads": -1}, "^num_threads must be a whole number of 1 or more, not -1"),
        ({"num_threads": True}, "^num_threads must be a whole number of 1 or more, not True"),
        ({"id": environment, "device": "cpu", "num_threads": -1}, "^num_threads must be a whole number of 1 or more"),
        ({"id": environment, "device": "cpu", "num_threads": 4}, r"^num_threads must be at most num_envs \(3\), not 4"),
        (
            {"num_envs": 4, "batch_size": 2, "num_threads": "x"},
            "^num_threads must be a whole number of 1 or more, not 'x'",
        ),
        (
            {"num_envs": 4, "batch_size": 2, "seed": "x"},
            r"seeds are one whole number, or one per world, shape \(4,\), not 'x'",
        ),
        ({"num_envs": 4, "batch_size": 2, "seed": [1, 2, 3]}, r"or one per world, shape \(4,\), not \[1, 2, 3\]"),
        ({"seed": [1, [2, 3], 4]}, "the seeds cannot be read as an array"),
        ({"seed": "x"}, r"seeds are one whole number, or one per world, shape \(3,\), not 'x'"),
        ({"seed": True}, "seeds are one whole number, .* not True"),
        ({"seed": 2**64}, r"seeds are at most 2\*\*64 - 1, .*, not 18446744073709551616"),
        ({"force": math.nan}, "configuration 'force' is a finite float32, not nan"),
        ({"force": -math.inf}, "configuration 'force' is a finite float32, not -inf"),
        ({"force": 1e40}, r"configuration 'force' is a finite float32, not 1e\+40"),
        ({"force": np.array([1.0, np.nan, 1.0])}, "configuration 'force' is a finite float32, not nan"),
        ({"force": [[1.0], [1.0, 2.0]]}, "configuration 'force' cannot be read as an array"),
        (
            {"rounds": 2**40},
            "configuration 'rounds' is a whole number from -2,147,483,648 to 2,147,483,647, not 1099511627776",
        ),
        ({"max_steps": -5}, "configuration 'max_steps' is a whole number from 0 to 2,147,483,647, not -5"),
        ({"max_steps": 2**40}, "configuration 'max_steps' is a whole number from 0"),
        ({"max_steps": True}, "configuration 'max_steps' is a whole number from 0 to 2,147,483,647, not True"),
        ({"max_steps": np.ones(3, bool)}, "configuration 'max_steps' is a whole number from 0"),
        (
            {"id": "gymnasium:no_such_module:CartPole-v1", "device": "cpu"},
            "the module 'no_such_module' of .* cannot be imported",
        ),
        (
            {"id": "gymnasium:CartPole-v1", "device": "cpu", "num_envs": 10**9},
            "num_envs is a whole number from 1 to 1048576, not 1000000000",
        ),
        ({"id": "a\0b.bin"}, "null character"),
    ],
)
def test_make(arguments, message):
    with pytest.raises(wl.InputError, match=message):
        make(**arguments)


@pytest.mark.parametrize("device", ["bogus", None, 5, [], "cuda:x", "cuda:²", "cpu:1", ""])
def test_devices(device):
    with pytest.raises(wl.DeviceError, match="device"):
        make(device=device)


def test_a_configuration_that_is_infinite_by_default_may_be_infinite_or_not():
    assert make(reach=math.inf).simulation.get_config("reach") == math.inf
    assert make(reach=2.0).simulation.get_config("reach") == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "x"}, r"seeds are one whole number, or one per world, shape \(3,\), not 'x'"),
        ({"seed": -1}, "seeds are 0 or more, not -1"),
        (
            {"seed": 2**64},
            r"seeds are at most 2\*\*64 - 1, which is 18,446,744,073,709,551,615, not 18446744073709551616",
        ),
        ({"seed": [1, 2, 2**70]}, r"seeds are at most 2\*\*64 - 1"),
        ({"seed": [1, -2, 2**70]}, "seeds are 0 or more, not -2"),
        ({"seed": [None, 1, 2**64]}, r"seeds are at most 2\*\*64 - 1"),
        ({"seed": [1, 2]}, r"one per world, shape \(3,\), not \[1, 2\]"),
        ({"seed": ["a", None, 1]}, r"seeds are one whole number, .* not \['a', 0, 1\]"),
        ({"options": "abc"}, "the options of a reset are a mapping, such as {'reset_mask': mask}, not 'abc'"),
        ({"options": [1]}, "the options of a reset are a mapping"),
        ({"options": {"reset_mask": [[True], False, True]}}, "a reset mask cannot be read as an array"),
        ({"options": {"mask": [True] * 3}}, "unknown reset option 'mask': reset takes 'reset_mask'"),
    ],
)
def test_resets_of_a_batch(arguments, message):
    env = make(seed=0)
    with pytest.raises(wl.InputError, match=message):
        env.reset(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "x"}, "seed must be a whole number of 0 or more"),
        ({"seed": -1}, "seed must be a whole number of 0 or more"),
        ({"seed": 1.5}, "seed must be a whole number of 0 or more"),
        ({"seed": 2**64}, "seed must be at most 18,446,744,073,709,551,615, not 18446744073709551616"),
        ({"options": "abc"}, "the options of a reset are a mapping"),
        ({"options": {"low": 0.1}}, "unknown reset option 'low': reset takes no options"),
    ],
)
def test_resets_of_one_world(arguments, message):
    with pytest.raises(wl.InputError, match=message):
        WorldEnv(ROOM, device="python").reset(**arguments)


@pytest.mark.parametrize("name", [5, None, [], ("force",)])
def test_names_of_configurations(name):
    simulation = make(seed=0).simulation
    for call in (lambda: simulation.set_config(name, 1), lambda: simulation.get_config(name)):
        with pytest.raises(wl.InputError, match="a configuration is named by a string"):
            call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"counts": "x"}, "counts is a mapping"),
        ({"counts": [1]}, "counts is a mapping"),
        ({"config": "x"}, "config is a mapping"),
        ({"config": {5: 1}}, "a configuration is named by a string"),
        ({"external": "x"}, "external is a mapping"),
        ({"num_worlds": 2**31}, "num_worlds must be at most 2,147,483,647, not 2147483648"),
        ({"world_offset": 2**31 - 2}, "world_offset must be at most 2,147,483,645"),
    ],
)
def test_simulations(arguments, message):
    with pytest.raises(wl.InputError, match=message):
        wl.Simulation(ROOM, **{"num_worlds": 3, "device": "python", **arguments})


@pytest.mark.parametrize("actions", [[[1], 0, 1], "x", None, [None] * 3, [0.5] * 3, {"kick": [[1], 0, 1]}])
def test_actions(actions):
    env = make(seed=0)
    env.reset()
    with pytest.raises(wl.InputError):
        env.step(actions)


@pytest.mark.parametrize("actions", ["x", None, [None] * 3, object()])
def test_messages_show_actions_that_are_no_numbers(actions):
    env = make(seed=0)
    env.reset()
    shown = re.escape(reprlib.repr(actions))
    with pytest.raises(wl.InputError, match=rf"Ball.kick takes int32 of shape \(3, 1\), not {shown}"):
        env.step(actions)


@pytest.mark.parametrize("action", ["a", None, {}])
@pytest.mark.parametrize("world", [ROOM, "Pendulum-v1"])
def test_actions_of_one_world(world, action):
    env = WorldEnv(world, device="python")
    env.reset(seed=0)
    with pytest.raises(wl.InputError, match=r"is no action of (Discrete|Box)|a mapping with the keys torque"):
        env.step(action)


@pytest.mark.parametrize("values", ["a", [1, [2]]])
def test_columns(values):
    simulation = make(seed=0).simulation
    with pytest.raises(wl.InputError, match=r"Ball.height"):
        simulation[Ball].height = values


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"world": None}, "a world is named by its id, a string such as 'CartPole-v1', not by None"),
        ({"num_envs": "x"}, "num_envs must be a whole number"),
        ({"timeout": "x"}, "timeout is a positive number of seconds up to 1,000,000, not 'x'"),
        ({"timeout": 0}, "timeout is a positive number of seconds"),
        ({"timeout": float("inf")}, "timeout is a positive number of seconds up to 1,000,000, not inf"),
    ],
)
def test_pools_of_worlds(arguments, message):
    with pytest.raises(wl.InputError, match=message):
        WorldPool(**{"world": ROOM, "num_envs": 4, "batch_size": 2, "device": "python", **arguments})


@pytest.mark.parametrize("sent", [([0, [0]], [0, 1]), ([0, 0], [0, [1]]), ([0, 0], ["a", "b"])])
def test_what_is_sent_to_a_pool_of_worlds(sent):
    with WorldPool(ROOM, 4, 2, device="python") as pool:
        pool.async_reset()
        pool.recv(), pool.recv()
        with pytest.raises(wl.InputError):
            pool.send(*sent)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"factories_or_id": None}, "give an id, a function that makes an environment"),
        ({"factories_or_id": 5}, "give an id, a function that makes an environment"),
        ({"timeout": "x"}, "timeout is a positive number of seconds"),
        ({"autoreset": []}, "autoreset must be one of"),
    ],
)
def test_pools_of_processes(arguments, message):
    with pytest.raises(wl.InputError, match=message):
        ProcessPool(**{"factories_or_id": environment, "num_envs": 2, **arguments})


@pytest.mark.parametrize("call", [wl.definition, wl.make_spec, WorldEnv, WorldVectorEnv])
@pytest.mark.parametrize("world", [None, 5, []])
def test_worlds_that_are_none(call, world):
    with pytest.raises(wl.InputError, match="a world is named by its id"):
        call(world)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "the id of a world cannot be None"),
        ({"id": ""}, "the id of a world cannot be ''"),
        ({"entities": {}, "step": ()}, "it has neither entities nor systems"),
        ({"entities": {}}, r"no entity of 'InvalidInputs-v.' matches its parameter \(Ball\)[^;]*; there are none"),
        ({"entities": [Ball]}, "'entities' does not say how many there are of each kind"),
        ({"step": None}, "'step' is not a list of systems"),
        ({"render": 3}, "render cannot be 3"),
        ({"max_steps": -5}, "max_steps cannot be -5"),
        ({"max_steps": True}, "max_steps cannot be True"),
        ({"max_steps": 2**31}, "max_steps cannot be 2147483648"),
        ({"frames_per_second": 0}, "frames_per_second cannot be 0"),
        ({"limits": 5}, "'limits' does not say which values"),
        ({"limits": {"force": 3}}, "the limits of 'force' cannot be 3"),
        ({"limits": {"force": (3, 1)}}, r"the limits of 'force' cannot be \(3, 1\)"),
        ({"doc": 5}, "doc cannot be 5"),
    ],
)
def test_definitions_and_registrations(changes, message):
    with pytest.raises(wl.DefinitionError, match=message):
        wl.Simulation(define(**changes), 1, "python")
    arguments = {"id": "InvalidInputs-v1", "world": Room, "entities": {Ball: 1}, "step": [fly], **changes}
    with pytest.raises(wl.DefinitionError, match=message):
        wl.register(arguments.pop("id"), **arguments)


def test_errors_of_a_definition_name_the_line_that_makes_it():
    with pytest.raises(
        wl.DefinitionError, match=r"test_invalid_inputs\.py:\d+: in world 'InvalidInputs-v0': max_steps"
    ) as raised:
        wl.Simulation(define(max_steps=-1), 1, "python")
    assert "return wl.Definition(" in str(raised.value)
