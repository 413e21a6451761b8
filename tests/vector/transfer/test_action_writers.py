"""Writers take actions of the right shape in every type that a column can hold, and leave the others to the checks."""

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.simulation import Simulation
from worldloom.vector.env_layout import make_layout
from worldloom.vector.transfer.action_writers import DeviceWriter, make_action_writer

N = 3


class Boat(wl.Entity):
    oar: wl.Action(wl.MultiDiscrete(4, 4))
    sail: wl.Action(wl.Box(-1.0, 1.0, (1,)))
    place: wl.Observation(3)


class Lake(wl.World):
    pass


@wl.system
def row(boat: Boat):
    boat.place = wl.vec3(float(boat.oar[0]), float(boat.oar[1]), boat.sail[0])


LAKE = wl.Definition(id="Lake-writers", world=Lake, entities={Boat: 1}, step=(row,))
OARS = np.array([[0, 1], [2, 3], [3, 0]])
SAILS = np.array([[0.1], [-0.5], [1.0]])


@pytest.fixture
def simulation():
    return Simulation(LAKE, N, "cpu", seed=0)


def writer(simulation, key):
    component = next(c for c in make_layout(LAKE).actions if c.key == key)
    return make_action_writer(simulation, component)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("tensors", [False, True])
def test_integers_of_every_width(simulation, dtype, tensors):
    actions = OARS.astype(dtype)
    assert writer(simulation, "oar").write(torch.from_numpy(actions) if tensors else actions)
    assert np.array_equal(simulation["Boat"].oar.numpy()[:, 0], OARS)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("tensors", [False, True])
def test_numbers_of_every_width(simulation, dtype, tensors):
    actions = SAILS.astype(dtype)
    assert writer(simulation, "sail").write(torch.from_numpy(actions) if tensors else actions)
    assert np.array_equal(simulation["Boat"].sail.numpy()[:, 0], actions.astype(np.float32))


def test_any_strides(simulation):
    write = writer(simulation, "oar").write
    for actions in (np.asfortranarray(OARS), np.repeat(OARS, 2, axis=0)[::2], torch.from_numpy(OARS.T.copy()).T):
        simulation["Boat"].oar.fill(0)
        assert write(actions)
        assert np.array_equal(simulation["Boat"].oar.numpy()[:, 0], OARS)


@pytest.mark.parametrize(
    "actions",
    [
        OARS + 2**32,  # the lower 32 bits are valid
        OARS - 2**40,
        torch.from_numpy(OARS + 2**32),
        OARS.astype(np.float32),
        OARS.astype(bool),
        OARS.astype(np.uint8),
        OARS.astype(">i8"),
        OARS[:2],
        OARS[:, None],
        OARS.tolist(),
        OARS.ravel(),
        torch.nn.Parameter(torch.from_numpy(OARS), requires_grad=False),
        None,
        {"oar": OARS},
    ],
)
def test_other_forms_are_left_to_the_checks(simulation, actions):
    assert writer(simulation, "oar").write(actions) is False


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("oar", torch.from_numpy(OARS)),
        ("oar", torch.from_numpy(OARS).int()),
        ("sail", torch.from_numpy(SAILS)),
        ("sail", torch.from_numpy(SAILS).float().requires_grad_()),
    ],
)
def test_the_kernels_of_gpus_convert(simulation, name, actions):
    column = simulation["Boat"][name]
    write = DeviceWriter(column, (N, *column.shape[2:]), lambda: None).write
    for values in (actions, 2 * actions):
        assert write(values)
        assert torch.equal(column.torch()[:, 0], values.detach().to(column.torch().dtype))
    assert not column.torch().requires_grad
    for other in (actions[:2], actions.bool(), actions.repeat(2, 1)[::2], actions.detach().numpy(), None):
        assert write(other) is False


def test_the_kernels_of_gpus_clamp(simulation):
    column = simulation["Boat"].oar
    assert DeviceWriter(column, (N, 2), lambda: None).write(
        torch.tensor([[2**31, -(2**31)], [2**62, -(2**62)], [1, -1]])
    )
    low, high = -(2**31), 2**31 - 1
    assert column.numpy()[:, 0].tolist() == [[high, low], [high, low], [1, -1]]


def test_gradients_do_not_reach_the_columns(simulation):
    actions = torch.from_numpy(SAILS).float().requires_grad_()
    assert writer(simulation, "sail").write(actions) is False
    env = wl.make(LAKE, N, env_type="torch", seed=0)
    env.step({"oar": torch.from_numpy(OARS), "sail": actions})
    assert not env.simulation["Boat"].sail.torch().requires_grad
    assert np.array_equal(env.simulation["Boat"].sail.numpy()[:, 0], SAILS.astype(np.float32))


@pytest.mark.parametrize("env_type", ["gymnasium", "torch"])
def test_a_dict_with_one_component_out_of_range_reports_it(env_type):
    env = wl.make(LAKE, N, env_type=env_type, seed=0)
    oars = OARS.copy()
    oars[1, 1] = 2**33
    actions = {"oar": oars, "sail": SAILS}
    env.step({key: torch.from_numpy(value) for key, value in actions.items()} if env_type == "torch" else actions)
    (fault,) = env.errors()
    assert fault.world == 1 and str(2**33) in fault.message
    assert env.simulation["Boat"].oar.numpy()[1, 0].tolist() == [2, 2**31 - 1]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_worlds_made_in_inference_mode_take_tensors_outside_of_it(dtype):
    with torch.inference_mode():
        env = wl.make("CartPole-v1", num_envs=N, env_type="torch", seed=0)
    assert env.step(torch.ones(N, dtype=dtype))[1].tolist() == [1.0] * N
