"""Columns: shapes, types, memory shared with NumPy, PyTorch and DLPack, and external memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import warp as wp

import worldloom as wl

DEVICES = ["python", "cpu"]


class Gadget(wl.Entity):
    on: bool
    tiny: wl.uint8
    wide: wl.int64
    exact: wl.float64
    half: wl.float16
    place: wl.vec3
    turn: wl.quat
    frame: wl.mat33 = 2.0
    grid: wl.Array(int, 2, 4)
    spots: wl.Array(wl.vec2, 5)
    lever: wl.Action(wl.Discrete(3))
    thrust: wl.Action(wl.Box(-1.0, 1.0, shape=(2,)))
    sight: wl.Observation(20)  # longer than a vector: an array
    reward: wl.Reward


class Shop(wl.World):
    noise: wl.Config = 0.5
    sizes: wl.Config = wl.vec2(1.0, 2.0)
    open: bool = True
    total: float


@wl.system
def work(gadget: Gadget, world: Shop):
    gadget.exact += 1.0
    gadget.wide += wl.int64(gadget.lever)
    gadget.place += wl.vec3(gadget.thrust.x, gadget.thrust.y, world.noise)
    gadget.grid[1, 3] += 1
    gadget.spots[2] += world.sizes


SHOP = wl.Definition("Shop-test", Shop, {Gadget: 3}, step=(work,))

SHAPES = {
    "on": ((4, 3), np.bool_),
    "tiny": ((4, 3), np.uint8),
    "wide": ((4, 3), np.int64),
    "exact": ((4, 3), np.float64),
    "half": ((4, 3), np.float16),
    "place": ((4, 3, 3), np.float32),
    "turn": ((4, 3, 4), np.float32),
    "frame": ((4, 3, 3, 3), np.float32),
    "grid": ((4, 3, 2, 4), np.int32),
    "spots": ((4, 3, 5, 2), np.float32),
    "lever": ((4, 3), np.int32),
    "thrust": ((4, 3, 2), np.float32),
    "sight": ((4, 3, 20), np.float32),
    "reward": ((4, 3), np.float32),
}


def make(device: str = "cpu", **options) -> wl.Simulation:
    return wl.Simulation(SHOP, 4, device, seed=0, **options)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_types(name: str) -> None:
    shape, dtype = SHAPES[name]
    column = make("python")["Gadget"][name]
    assert column.shape == column.numpy().shape == tuple(column.torch().shape) == shape
    assert column.dtype == column.numpy().dtype == dtype
    assert str(column.torch().dtype).removeprefix("torch.") == np.dtype(dtype).name
    assert column.nbytes == column.numpy().nbytes


def test_fields_of_the_world_have_no_axis_of_entities() -> None:
    sim = make("python")
    assert sim.world.open.shape == (4,) and sim.world.total.shape == (4,)
    assert sim.world.noise.shape == (1,) and sim.world.sizes.shape == (1, 2)
    assert sim.world.open.numpy().all() and (sim["Gadget"].frame.numpy() == 2.0).all()


@pytest.mark.parametrize("device", DEVICES)
def test_every_export_is_the_memory_itself(device: str) -> None:
    sim = make(device)
    column = sim["Gadget"].exact
    tensor, view, imported = column.torch(), column.numpy(), torch.from_dlpack(column)
    assert tensor.data_ptr() == view.__array_interface__["data"][0] == imported.data_ptr() == column.array.ptr
    tensor[1, 2] = 7.0
    assert view[1, 2] == 7.0 and imported[1, 2] == 7.0 and np.asarray(column)[1, 2] == 7.0
    sim.step()
    assert view[1, 2] == tensor[1, 2] == imported[1, 2] == 8.0
    assert view[0, 0] == 1.0
    imported[0, 0] = -1.0
    sim.step()
    assert view[0, 0] == 0.0


def test_every_column_shares_its_memory() -> None:
    sim = make("python")
    for table in sim.tables.values():
        for column in table:
            assert column.torch().data_ptr() == column.numpy().__array_interface__["data"][0] == column.array.ptr, (
                column.name
            )
            assert np.shares_memory(column.numpy(), column.values)


def test_numpy_reads_a_column_through_dlpack_and_array() -> None:
    column = make("python")["Gadget"].place
    np.from_dlpack(column)[...] = 3.0
    assert (column.numpy() == 3.0).all()
    assert np.array(column, dtype=np.float64).dtype == np.float64


def test_assign_takes_arrays_and_tensors_of_other_widths() -> None:
    sim = make("python")
    lever = sim["Gadget"].lever
    for values in (np.full((4, 3), 2, np.int64), np.full((4, 3), 1, np.uint8), torch.full((4, 3), 2), [[1] * 3] * 4):
        lever.assign(values)
        assert lever.numpy().tolist() == np.asarray(values).tolist()
    sim["Gadget"].place.assign(torch.ones(4, 3, 3, dtype=torch.float64, requires_grad=True).detach())
    assert (sim["Gadget"].place.numpy() == 1.0).all()


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("lever", np.zeros((4, 3)), "Gadget.lever takes int32 of shape (4, 3), not type float64"),
        ("lever", torch.zeros(4, 3), "Gadget.lever takes int32 of shape (4, 3), not type float32"),
        ("lever", np.zeros((3, 4), int), "Gadget.lever takes int32 of shape (4, 3), not shape (3, 4)"),
        ("lever", torch.zeros(4, 2, dtype=torch.int32), "Gadget.lever takes int32 of shape (4, 3), not shape (4, 2)"),
        (
            "place",
            torch.zeros(4, 3, 3, dtype=torch.bfloat16),
            "Gadget.place takes float32 of shape (4, 3, 3), not type bfloat16",
        ),
        ("place", np.zeros((4, 3, 3), complex), "Gadget.place takes float32 of shape (4, 3, 3), not type complex128"),
        ("on", np.zeros((4, 3), int), "Gadget.on takes bool of shape (4, 3), not type int64"),
    ],
)
def test_assign_refuses_what_does_not_fit(name: str, values, words: str) -> None:
    with pytest.raises(wl.InputError) as caught:
        make("python")["Gadget"][name].assign(values)
    assert str(caught.value) == words


# -- external columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["numpy", "torch", "warp"])
def test_external_memory_is_used_in_place(device: str, kind: str) -> None:
    values = np.arange(12, dtype=np.float64).reshape(4, 3)
    if kind == "numpy":
        theirs = values
    else:
        theirs = (
            torch.from_numpy(values)
            if kind == "torch"
            else wp.array(values, dtype=wp.float64, device="cpu", copy=False)
        )
    before = values.copy()
    sim = make(device, external={"Gadget.exact": theirs})
    assert sim["Gadget"].exact.array.ptr == values.__array_interface__["data"][0]
    values[...] = before  # the first reset has put the component's default there
    sim.step()
    np.testing.assert_array_equal(values, before + 1.0)
    values[2, 1] = 50.0
    sim.step()
    assert sim["Gadget"].exact.numpy()[2, 1] == 51.0


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_external_memory_of_more_dimensions_than_a_warp_array_has(library: str) -> None:
    memory = np.zeros((3, 2, 5, 4, 26), np.uint8)
    theirs = memory if library == "numpy" else torch.from_numpy(memory)
    sim = wl.Simulation("Overcooked-v0", 3, "cpu", seed=0, external={"Player.sight": theirs})
    sim.step()
    assert int(memory.sum()) == int(sim["Player"].sight.numpy().sum()) > 0


def test_external_vectors_of_any_grouping() -> None:
    places = wp.zeros(12, dtype=wp.vec3, device="cpu")
    sim = make(external={"Gadget.place": places, "Gadget.spots": np.zeros((4, 3, 5, 2), np.float32)})
    assert sim["Gadget"].place.shape == (4, 3, 3) and sim["Gadget"].spots.shape == (4, 3, 5, 2)
    sim.step()
    assert (places.numpy()[:, 2] == 0.5).all()


@pytest.mark.parametrize(
    ("external", "words"),
    [
        ({"Gadget.exact": np.zeros((4, 3), np.float32)}, "must hold 12 numbers of type float64, not 12 of float"),
        ({"Gadget.exact": np.zeros((4, 4))}, "must hold 12 numbers of type float64, not 16 of float64"),
        ({"Gadget.exact": [0.0] * 12}, "must be a Warp array, a PyTorch tensor or a NumPy array, not list"),
        ({"Gadget.exact": torch.zeros(3, 4, dtype=torch.float64).T}, "must be contiguous"),
        ({"Gadget.exact": np.zeros((4, 6))[:, ::2]}, "must be contiguous"),
        ({"Gadget.missing": np.zeros(12)}, "there is no column 'Gadget.missing' to be external"),
    ],
)
def test_external_memory_that_does_not_fit(external: dict, words: str) -> None:
    with pytest.raises(wl.InputError) as caught:
        make("python", external=external)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_two_columns_do_not_share_external_memory() -> None:
    memory = np.zeros(200, np.float32)
    places, spots = memory[:36].reshape(4, 3, 3), memory[36:156].reshape(4, 3, 5, 2)
    make(external={"Gadget.place": places, "Gadget.spots": spots}).step()
    with pytest.raises(wl.InputError, match=r"Gadget\.place and Gadget\.spots have memory in common"):
        make(external={"Gadget.place": places, "Gadget.spots": memory[35:155].reshape(4, 3, 5, 2)})


# -- configuration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_configuration_for_the_batch_and_per_world(device: str) -> None:
    sim = make(device, config={"noise": 2.0})
    sim.step()
    assert (sim["Gadget"].place.numpy()[..., 2] == 2.0).all()
    sim.set_config("noise", np.array([0.0, 1.0, 2.0, 3.0]))
    sim.step()
    assert sim["Gadget"].place.numpy()[:, 0, 2].tolist() == [2.0, 3.0, 4.0, 5.0]
    sim.set_config("noise", torch.tensor([1.0, 0.0, 0.0, 0.0]))
    sim.step()
    assert sim["Gadget"].place.numpy()[:, 0, 2].tolist() == [3.0, 3.0, 4.0, 5.0]
    sim.set_config("noise", 0)
    sim.set_config("sizes", np.tile([10.0, 0.0], (4, 1)))
    sim.step()
    assert sim["Gadget"].place.numpy()[:, 0, 2].tolist() == [3.0, 3.0, 4.0, 5.0]
    assert sim["Gadget"].spots.numpy()[0, 0, 2].tolist() == [13.0, 6.0]
    sim.world.noise.torch()[...] = 0.25
    sim.step()
    assert sim["Gadget"].place.numpy()[:, 0, 2].tolist() == [3.25, 3.25, 4.25, 5.25], "a configuration is a column too"


def test_configuration_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = make()
    sim.step()
    text, kernels = sim.program.text, dict(sim.executor.kernels)
    monkeypatch.setattr(type(sim.program), "load", lambda *_: pytest.fail("the program was loaded again"))
    for value in (1.0, np.linspace(0.0, 1.0, 4), 3.0):
        sim.set_config("noise", value)
        sim.set_config("max_steps", 5)
        sim.step()
    assert sim.program.text == text and sim.executor.kernels == kernels


def test_one_world_takes_one_value() -> None:
    sim = wl.Simulation(SHOP, 1, "python", seed=0)
    sim.set_config("noise", [3.0])
    sim.set_config("noise", 4.0)
    sim.set_config("sizes", [[1.0, 2.0]])
    sim.set_config("sizes", [5.0, 6.0])
    assert sim.world.noise.numpy().tolist() == [4.0] and sim.world.sizes.numpy().tolist() == [[5.0, 6.0]]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nois", 1.0, "world 'Shop-test' has no configuration 'nois': it has noise, max_steps, sizes"),
        ("total", 1.0, "has no configuration 'total'"),
        ("noise", np.zeros(3), "not shape (3,)"),
        ("noise", "loud", "configuration 'noise' holds float32"),
        ("sizes", 1.0, "configuration 'sizes' is one value of shape (2,), or 4 of them, not shape ()"),
        ("max_steps", 2.5, "configuration 'max_steps' holds int32"),
    ],
)
def test_configuration_that_does_not_fit(name: str, value, words: str) -> None:
    with pytest.raises(wl.InputError) as caught:
        make("python").set_config(name, value)
    assert words in str(caught.value) and "\n" not in str(caught.value)
