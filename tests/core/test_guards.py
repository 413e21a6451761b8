"""Guards: whatever is wrong with what is handed in is said in one sentence, and a fault stays in its own world."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import warp as wp

import worldloom as wl
from worldloom.core.model.fields import Role

DEVICES = ["python", "cpu"]


def refused(words: str, error: type[Exception], call, *arguments, **options) -> None:
    """The call is refused in one sentence that holds ``words``."""
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert words in message and "\n" not in message
    assert isinstance(caught.value, wl.WorldloomError) and "Traceback" not in message


@pytest.fixture(scope="module")
def pole() -> wl.Simulation:
    return wl.Simulation("CartPole-v1", 4, "cpu", seed=0)


# -- making ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worlds", "options", "words"),
    [
        (0, {}, "num_worlds must be a whole number of 1 or more, not 0"),
        (-3, {}, "num_worlds must be a whole number of 1 or more, not -3"),
        (2.0, {}, "num_worlds must be a whole number of 1 or more, not 2.0"),
        (True, {}, "num_worlds must be a whole number of 1 or more, not True"),
        ("8", {}, "num_worlds must be a whole number of 1 or more, not '8'"),
        (2**30, {"counts": {"Cart": 4}}, "1073741824 worlds make more than 2^31 rows in one table"),
        (4, {"autoreset": "sometimes"}, "autoreset must be one of same_step, next_step, disabled, not 'sometimes'"),
        (4, {"threads": 0}, "threads must be a whole number of 1 or more, not 0"),
        (4, {"threads": 1.5}, "threads must be a whole number of 1 or more, not 1.5"),
        (4, {"seed": 0.5}, "seeds are one whole number"),
        (4, {"seed": "x"}, "seeds are one whole number"),
        (4, {"config": {"gravitas": 1.0}}, "world 'CartPole-v1' has no configuration 'gravitas'"),
        (4, {"config": {"gravity": "low"}}, "configuration 'gravity' holds float32"),
        (
            4,
            {"config": {"gravity": np.ones(3)}},
            "configuration 'gravity' is one value of shape (), or 4 of them, not shape (3,)",
        ),
        (4, {"counts": {"Horse": 2}}, "world 'CartPole-v1' has no entities 'Horse': it has Cart"),
        (4, {"external": {"Cart.y": np.zeros(4)}}, "there is no column 'Cart.y' to be external"),
        (4, {"world_offset": "far"}, "world_offset must be a whole number of 0 or more, not 'far'"),
        (4, {"world_offset": -1}, "world_offset must be a whole number of 0 or more, not -1"),
    ],
)
def test_arguments_of_a_simulation(worlds, options: dict, words: str) -> None:
    refused(words, wl.InputError, wl.Simulation, "CartPole-v1", worlds, "python", **options)


def test_worlds_that_do_not_exist() -> None:
    refused("there is no world 'CartPol-v1'; did you mean CartPole-v1", wl.InputError, wl.Simulation, "CartPol-v1", 4)
    refused("there is no world 'Zzz'; `worldloom list` shows all worlds.", wl.InputError, wl.Simulation, "Zzz", 4)
    refused("a simulation is made of a world's id or its definition, not of int", wl.InputError, wl.Simulation, 42, 4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpu", "there is no device 'gpu': use 'python', 'cpu', 'cuda:0' or 'auto'"),
        ("cuda:x", "there is no device 'cuda:x'"),
        ("cpu:1", "there is no device 'cpu:1'"),
        ("", "there is no device ''"),
        (0, "a device is named by a string such as 'cpu' or 'cuda:0', not by 0"),
        (None, "a device is named by a string such as 'cpu' or 'cuda:0', not by None"),
    ],
)
def test_devices_that_do_not_exist(name, words: str) -> None:
    refused(words, wl.DeviceError, wl.Simulation, "CartPole-v1", 4, name)


def test_a_missing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp, "is_cuda_available", lambda: False)
    refused(
        "device 'cuda:0' needs an NVIDIA GPU with its driver, and this machine shows none",
        wl.DeviceError,
        wl.Simulation,
        "CartPole-v1",
        4,
        "cuda:0",
    )
    with wl.Simulation("CartPole-v1", 4, "auto", seed=0) as sim:
        assert sim.device.is_cpu and not sim.interpreted


def test_a_gpu_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp, "is_cuda_available", lambda: True)
    monkeypatch.setattr(wp, "get_cuda_device_count", lambda: 2)
    refused(
        "there is no device 'cuda:2': this machine has 2 GPUs, cuda:0 to cuda:1",
        wl.DeviceError,
        wl.Simulation,
        "CartPole-v1",
        4,
        "cuda:2",
    )


# -- running ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (np.zeros(4), "Cart.push takes int32 of shape (4, 1), not type float64"),
        (np.zeros((4, 1), np.float32), "Cart.push takes int32 of shape (4, 1), not type float32"),
        (np.zeros(5, int), "Cart.push takes int32 of shape (4, 1), not shape (5,)"),
        (np.zeros((4, 2), np.int32), "Cart.push takes int32 of shape (4, 1), not shape (4, 2)"),
        (np.int32(1), "Cart.push takes int32 of shape (4, 1), not shape ()"),
        (torch.zeros(4), "Cart.push takes int32 of shape (4, 1), not type float32"),
        (torch.zeros(1, 4, dtype=torch.int32), "Cart.push takes int32 of shape (4, 1), not shape (1, 4)"),
        (["left"] * 4, "Cart.push takes int32 of shape (4, 1), not type str"),
        ({"Cart.pull": np.zeros(4, int)}, "there is no action 'Cart.pull': world 'CartPole-v1' takes Cart.push"),
        ({"Cart.push": np.zeros(3, int)}, "Cart.push takes int32 of shape (4, 1), not shape (3,)"),
    ],
)
def test_actions_that_do_not_fit(pole: wl.Simulation, actions, words: str) -> None:
    steps = pole.world.step.numpy().copy()
    refused(words, wl.InputError, pole.step, actions)
    assert (pole.world.step.numpy() == steps).all(), "no step was taken"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"mask": np.ones(3, bool)},
            "a reset mask holds one truth value per world, shape (4,), not bool of shape (3,)",
        ),
        (
            {"mask": np.ones(4, int)},
            "a reset mask holds one truth value per world, shape (4,), not int64 of shape (4,)",
        ),
        (
            {"mask": torch.ones(4, 1, dtype=torch.bool)},
            "a reset mask holds one truth value per world, shape (4,), not bool of shape (4, 1)",
        ),
        ({"mask": True}, "a reset mask holds one truth value per world"),
        ({"seeds": 1.0}, "seeds are one whole number, or one per world, shape (4,), not 1.0"),
        ({"seeds": np.arange(3)}, "seeds are one whole number, or one per world, shape (4,), not int64 of shape (3,)"),
        (
            {"seeds": torch.zeros(4)},
            "seeds are one whole number, or one per world, shape (4,), not float32 of shape (4,)",
        ),
        (
            {"seeds": 2**70},
            "seeds are at most 2**64 - 1, which is 18,446,744,073,709,551,615, not 1180591620717411303424",
        ),
    ],
)
def test_resets_that_do_not_fit(pole: wl.Simulation, options: dict, words: str) -> None:
    refused(words, wl.InputError, pole.reset, **options)


def test_names_that_do_not_exist(pole: wl.Simulation) -> None:
    refused("world 'CartPole-v1' has no table 'Horse': it has World, Cart", wl.InputError, pole.__getitem__, "Horse")
    refused("world 'CartPole-v1' has no configuration 'x'", wl.InputError, pole.set_config, "x", 1.0)
    with pytest.raises(AttributeError, match="table 'Cart' has no column 'speed': it has x, velocity"):
        _ = pole["Cart"].speed
    assert not hasattr(pole["Cart"], "speed")


@pytest.mark.parametrize("device", DEVICES)
def test_a_closed_simulation(device: str) -> None:
    sim = wl.Simulation("CartPole-v1", 4, device, seed=0)
    sim.close()
    sim.close()
    for call, arguments in (
        (sim.step, ()),
        (sim.step, (np.zeros(4, np.int32),)),
        (sim.reset, ()),
        (sim.set_config, ("gravity", 1.0)),
        (sim.get_config, ("gravity",)),
        *((getattr, (sim, name)) for name in ("world", "terminated", "truncated", "starting", "seeds")),
        (getattr, (sim, "bytes_per_world")),
        (sim.columns, (Role.ACTION,)),
    ):
        refused("this simulation is closed: make a new one", wl.InputError, call, *arguments)


# -- faults of single worlds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_an_action_out_of_range(device: str) -> None:
    sim, calm = (wl.Simulation("CartPole-v1", 6, device, seed=0) for _ in range(2))
    good = np.zeros(6, np.int32)
    sim.step(good)
    calm.step(good)
    bad = good.copy()
    bad[[1, 4]] = 2, -7
    sim.step(bad)
    calm.step(good)
    faults = sim.errors()
    assert [(f.world, f.episode, f.step) for f in faults] == [(1, 0, 1), (4, 0, 1)]
    assert [f.message for f in faults] == [
        "action Cart.push is 2, which is not in 0 to 1",
        "action Cart.push is -7, which is not in 0 to 1",
    ]
    assert str(faults[0]) == "world 1, episode 0, step 1: action Cart.push is 2, which is not in 0 to 1"
    assert (
        sim.truncated.numpy().tolist() == [False, True, False, False, True, False] and not sim.terminated.numpy().any()
    )
    assert sim.world.episode.numpy().tolist() == [0, 1, 0, 0, 1, 0] and (sim.world.step.numpy()[[1, 4]] == 0).all()
    assert sim.errors() == [], "each is reported once"
    others = [0, 2, 3, 5]
    for _ in range(5):
        sim.step(good)
        calm.step(good)
        np.testing.assert_array_equal(sim["Cart"].sight.numpy()[others], calm["Cart"].sight.numpy()[others])
    assert sim.errors() == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("device", DEVICES)
def test_a_number_that_is_not_finite(device: str, value: float) -> None:
    sim = wl.Simulation("CartPole-v1", 4, device, seed=0, world_offset=10)
    sim["Cart"].x.numpy()[2] = value
    sim.step(np.zeros(4, np.int32))
    faults = sim.errors()
    assert [(f.world, f.episode, f.step, f.message.partition(":")[0]) for f in faults] == [
        (12, 0, 0, "x of Cart 0 is not a finite number (written by system 'swing', cartpole.py")
    ]
    assert np.isfinite(sim["Cart"].sight.numpy()).all(), "the faulty world was reset"
    assert sim.truncated.numpy()[2]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", ["next_step", "disabled"])
def test_faults_in_the_other_modes(device: str, mode: str) -> None:
    sim = wl.Simulation("CartPole-v1", 3, device, seed=0, autoreset=mode)
    sim.step(np.array([0, 5, 0], np.int32))
    assert [f.world for f in sim.errors()] == [1] and sim.truncated.numpy().tolist() == [False, True, False]
    sim.step(np.zeros(3, np.int32))
    assert sim.errors() == []
    assert sim.world.episode.numpy().tolist() == ([0, 1, 0] if mode == "next_step" else [0, 0, 0])


def test_without_checks_a_bad_action_counts_as_the_first() -> None:
    sim, good = (wl.Simulation("CartPole-v1", 2, "cpu", seed=0, checks=False) for _ in range(2))
    sim.step(np.array([9, -1], np.int32))
    good.step(np.array([0, 0], np.int32))
    assert sim.errors() == []
    np.testing.assert_array_equal(sim["Cart"].sight.numpy(), good["Cart"].sight.numpy())


def test_more_faults_than_there_is_room_for() -> None:
    sim = wl.Simulation("CartPole-v1", 1000, "cpu", seed=0, threads=2)
    sim.step(np.full(1000, 9, np.int32))
    faults = sim.errors()
    assert len(faults) == 2 * 256 and sim.faults_lost == 1000 - 512
    assert len({f.world for f in faults}) == 512
    sim.step(np.zeros(1000, np.int32))
    assert sim.errors() == [] and sim.faults_lost == 488


class Pile(wl.Entity):
    size: int
    names: wl.Array(int, 3)
    sight: wl.Observation(1)


class Yard(wl.World):
    pass


@wl.system
def grow(pile: Pile):
    pile.size += 1


@wl.system
def look(pile: Pile):
    pile.sight[0] = float(pile.names[pile.size])


@pytest.mark.parametrize("device", DEVICES)
def test_a_fault_in_the_last_observation_does_not_harm_the_next_episode(device: str) -> None:
    sim = wl.Simulation(
        wl.Definition("Pile-test", Yard, {Pile: 1}, step=(grow,), observe=(look,), max_steps=3), 2, device, seed=0
    )
    for _ in range(3):
        sim.step()
    assert [(f.world, f.episode, f.step) for f in sim.errors()] == [(0, 0, 3), (1, 0, 3)]
    assert sim.truncated.numpy().all() and (sim.world.episode.numpy() == 1).all()
    sim.step()
    assert not sim.truncated.numpy().any() and (sim.world.step.numpy() == 1).all() and sim.errors() == []
