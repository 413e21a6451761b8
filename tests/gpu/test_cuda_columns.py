"""Columns on the GPU: memory shared with PyTorch, actions from anywhere, external memory, configuration."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import warp as wp

import worldloom as wl


class Gadget(wl.Entity):
    on: bool
    tiny: wl.uint8 = 3
    wide: wl.int64
    exact: wl.float64
    half: wl.float16 = 0.5
    place: wl.vec3
    turn: wl.quat
    frame: wl.mat33 = 2.0
    grid: wl.Array(int, 2, 4)
    lever: wl.Action(wl.Discrete(3))
    sight: wl.Observation(20)
    reward: wl.Reward


class Shop(wl.World):
    noise: wl.Config = 0.5


@wl.system
def work(gadget: Gadget, world: Shop):
    gadget.exact += 1.0
    gadget.wide += wl.int64(gadget.lever)
    gadget.place.z += world.noise
    gadget.grid[1, 3] += 1
    gadget.on = not gadget.on


@wl.system
def look(gadget: Gadget):
    gadget.sight[19] = gadget.place.z


SHOP = wl.Definition("CudaShop-test", Shop, {Gadget: 3}, step=(work,), observe=(look,))


def make(**options) -> wl.Simulation:
    return wl.Simulation(SHOP, 4, "cuda:0", seed=0, **options)


def test_every_type_of_column_is_filled() -> None:
    sim = make()
    assert (sim[Gadget].frame.numpy() == 2.0).all()
    assert (sim[Gadget].tiny.numpy() == 3).all()
    for name, value in (
        ("on", True),
        ("tiny", 7),
        ("wide", -1),
        ("exact", 0.25),
        ("half", 1.5),
        ("place", 3.0),
        ("frame", -1.0),
        ("grid", 5),
        ("sight", 2.5),
    ):
        column = sim[Gadget][name]
        column.fill(value)
        assert (column.numpy() == value).all(), name


def test_shapes_and_types_are_those_of_the_cpu() -> None:
    gpu, cpu = make(), wl.Simulation(SHOP, 4, "python", seed=0)
    for table in cpu.tables.values():
        for column in table:
            there = gpu.tables[table.table_name][column.field.name]
            assert there.shape == column.shape and there.dtype == column.dtype and there.nbytes == column.nbytes
            assert (
                there.torch().is_cuda
                and tuple(there.torch().shape) == column.shape
                and there.torch().dtype == column.torch().dtype
            )
            np.testing.assert_array_equal(there.numpy(), column.numpy(), err_msg=column.name)


def test_tensors_are_the_memory_itself() -> None:
    sim = make()
    column = sim["Gadget"].exact
    tensor, imported = column.torch(), torch.from_dlpack(column)
    assert tensor.data_ptr() == imported.data_ptr() == column.array.ptr
    tensor[1, 2] = 7.0
    sim.step()
    assert imported[1, 2].item() == 8.0 and column.numpy()[1, 2] == 8.0 and tensor[0, 0].item() == 1.0
    for _ in range(50):
        tensor.mul_(0.0)
        sim.step()
    assert (tensor == 1.0).all(), "torch and the step alternate without an explicit synchronization"


def test_numpy_is_a_copy() -> None:
    sim = make()
    sim["Gadget"].exact.numpy()[...] = 5.0
    assert (sim["Gadget"].exact.torch() == 0.0).all()


@pytest.mark.parametrize(
    "give",
    [
        lambda v: torch.tensor(v, device="cuda:0", dtype=torch.int32),
        lambda v: torch.tensor(v, device="cuda:0"),
        lambda v: torch.tensor(v),
        lambda v: np.array(v, np.int32),
        lambda v: np.array(v),
    ],
    ids=["cuda int32", "cuda int64", "cpu tensor", "numpy int32", "numpy int64"],
)
def test_actions_from_anywhere(give) -> None:
    sim = make()
    values = [[0, 1, 2], [2, 1, 0], [1, 1, 1], [0, 0, 2]]
    sim.step(give(values))
    sim.step(give(values))
    assert sim["Gadget"].lever.numpy().tolist() == values
    assert sim["Gadget"].wide.numpy().tolist() == (2 * np.array(values)).tolist()


def test_one_agent_needs_no_axis_of_entities() -> None:
    sim = wl.Simulation("CartPole-v1", 4, "cuda:0", seed=1)
    sim.step(torch.tensor([0, 1, 1, 0], device="cuda:0"))
    assert torch.sign(sim["Cart"].velocity.torch()[:, 0]).tolist() == [-1, 1, 1, -1]


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (lambda: torch.zeros(4, 3, device="cuda:0"), "Gadget.lever takes int32 of shape (4, 3), not type float32"),
        (
            lambda: torch.zeros(4, 2, device="cuda:0", dtype=torch.int32),
            "Gadget.lever takes int32 of shape (4, 3), not shape (4, 2)",
        ),
        (lambda: np.zeros((4, 3)), "Gadget.lever takes int32 of shape (4, 3), not type float64"),
    ],
)
def test_actions_that_do_not_fit(actions, words: str) -> None:
    with pytest.raises(wl.InputError) as caught:
        make().step(actions())
    assert str(caught.value) == words


def test_external_memory_is_used_in_place() -> None:
    theirs, places = (
        torch.zeros(4, 3, dtype=torch.float64, device="cuda:0"),
        wp.zeros(12, dtype=wp.vec3, device="cuda:0"),
    )
    sim = make(external={"Gadget.exact": theirs, "Gadget.place": places})
    sim.step()
    theirs[2, 1] = 50.0
    sim.step()
    assert theirs[2, 1].item() == 51.0 and theirs[0, 0].item() == 2.0
    assert (places.numpy()[:, 2] == 1.0).all()


def test_external_memory_of_another_device_is_refused() -> None:
    with pytest.raises(wl.InputError, match=r"Gadget.exact must be on cuda:0, not on cpu"):
        make(external={"Gadget.exact": torch.zeros(4, 3, dtype=torch.float64)})


def test_configuration_for_the_batch_and_per_world() -> None:
    sim = make(config={"noise": 2.0})
    place = sim["Gadget"].place.torch()
    sim.step()
    assert (place[..., 2] == 2.0).all()
    sim.set_config("noise", torch.tensor([0.0, 1.0, 2.0, 3.0], device="cuda:0"))
    sim.step()
    assert place[:, 0, 2].tolist() == [2.0, 3.0, 4.0, 5.0]
    sim.set_config("noise", np.array([1.0, 0.0, 0.0, 0.0]))
    sim.step()
    assert place[:, 0, 2].tolist() == [3.0, 3.0, 4.0, 5.0]
    sim.set_config("noise", 1.0)
    sim.step()
    assert place[:, 0, 2].tolist() == [4.0, 4.0, 5.0, 6.0]
    sim.world.noise.torch().fill_(0.5)
    sim.step()
    assert place[:, 0, 2].tolist() == [4.5, 4.5, 5.5, 6.5], "a configuration is a column too"


def test_masks_and_seeds_from_the_gpu() -> None:
    sim = make()
    sim.step()
    sim.reset(mask=torch.tensor([True, False, False, True], device="cuda:0"), seeds=torch.arange(4, device="cuda:0"))
    assert sim.world.step.numpy().tolist() == [0, 1, 1, 0] and sim.world.seed.numpy().tolist() == [0, 0, 0, 3]


class Long(wl.Entity):
    six: wl.vec(6)  # moved in pieces of 8 bytes
    seven: wl.vec(7)  # number by number
    eight: wl.vec(8)  # in pieces of 16


class Shelf(wl.World):
    pass


@wl.system
def stretch(long: Long):
    for place in range(6):
        long.six[place] = 2.0 * long.six[place] + float(place + long.id)
    for place in range(7):
        long.seven[place] = 2.0 * long.seven[place] + float(place + long.id)
    for place in range(8):
        long.eight[place] = 2.0 * long.eight[place] + float(place + long.id)


SHELF = wl.Definition("CudaShelf-test", Shelf, {Long: 5}, step=(stretch,))


def test_long_vectors_are_moved_whole() -> None:
    cpu, cuda = (wl.Simulation(SHELF, 50, device, seed=0) for device in ("cpu", "cuda:0"))
    for _ in range(3):
        cpu.step()
        cuda.step()
    for name in ("six", "seven", "eight"):
        assert cpu[Long][name].numpy().any()
        np.testing.assert_array_equal(cuda[Long][name].numpy(), cpu[Long][name].numpy(), name)


def test_external_vectors_lie_where_their_pieces_can_be_moved() -> None:
    memory = torch.zeros(50 * 5 * 6 + 1, device="cuda:0")
    with pytest.raises(wl.InputError, match="must begin at a multiple of 8 bytes"):
        wl.Simulation(SHELF, 50, "cuda:0", seed=0, external={"Long.six": memory[1:].view(50, 5, 6)})


def test_large_arrays_are_copies_that_stay() -> None:
    env = wl.make("Catch-v0", 65_536, device="cuda:0", seed=0)
    env.action_space.seed(0)
    env.reset()
    kept, expected = [], []
    for _ in range(4):
        observation = env.step(env.action_space.sample())[0]
        kept.append(observation)
        expected.append(env.simulation["Paddle"].sight.torch().cpu().numpy())
    for found, right in zip(kept, expected, strict=True):
        np.testing.assert_array_equal(found.ravel(), right.ravel())
    column = env.simulation["Paddle"].sight
    addresses = {column.numpy().ctypes.data for _ in range(4)}
    assert len(addresses) == 1, "the memory of an array that is gone is used again"
    assert addresses.isdisjoint(array.ctypes.data for array in kept)
