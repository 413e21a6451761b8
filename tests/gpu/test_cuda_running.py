"""Running on the GPU: recorded graphs, faults, callables, and many simulations made and destroyed."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch
import warp as wp

import worldloom as wl


class Drop(wl.Entity):
    height: float = 8.0
    noted: float


class Sky(wl.World):
    pass


@wl.system
def fall(drop: Drop):
    drop.height -= 1.0


@wl.system
def note(drop: Drop):
    drop.noted = drop.height


def test_a_step_is_one_recorded_graph() -> None:
    sim = wl.Simulation("CartPole-v1", 64, "cuda:0", seed=0)
    steps, resets = sim.executor.segments
    assert len(steps) == len(resets) == 1 and len(sim.slices) == 1
    recorded = sim.executor.segments
    for _ in range(100):
        sim.step()
    assert sim.executor.segments is recorded, "replayed, not recorded again"
    assert (sim.world.step.numpy() + 500 * sim.world.episode.numpy() > 0).all()


def test_replays_count_every_step(race: wl.Definition) -> None:
    sim = wl.Simulation(race, 10, "cuda:0", seed=0, config={"goal": 1_000_000})
    for _ in range(1000):
        sim.step()
    assert (sim.world.step.numpy() == 1000).all() and (sim["Runner"].age.numpy() == 1000).all()
    sim.set_config("goal", np.full(10, 1001, np.int32))
    sim.step()
    assert sim.terminated.numpy().all(), "the new configuration is in the graph"


def test_callables_run_between_two_graphs() -> None:
    def halve(sim: wl.Simulation) -> None:
        sim["Drop"].height.torch().mul_(0.5)

    definition = wl.Definition("CudaRain-test", Sky, {Drop: 2}, step=(fall, halve, note))
    sim = wl.Simulation(definition, 100, "cuda:0", seed=0, autoreset="disabled")
    assert len(sim.executor.segments[0]) == 3
    height = 8.0
    for _ in range(20):
        sim.step()
        height = (height - 1.0) / 2.0
        assert (sim["Drop"].noted.torch() == height).all()


# -- faults ----------------------------------------------------------------------------------------------------------


def test_an_action_out_of_range() -> None:
    sim, calm = (wl.Simulation("CartPole-v1", 6, "cuda:0", seed=0) for _ in range(2))
    good = torch.zeros(6, dtype=torch.int32, device="cuda:0")
    bad = good.clone()
    bad[1], bad[4] = 2, -7
    for first, second in ((good, good), (bad, good)):
        sim.step(first)
        calm.step(second)
    faults = sim.errors()
    assert [(f.world, f.episode, f.step, f.message) for f in faults] == [
        (1, 0, 1, "action Cart.push is 2, which is not in 0 to 1"),
        (4, 0, 1, "action Cart.push is -7, which is not in 0 to 1"),
    ]
    assert sim.truncated.numpy().tolist() == [False, True, False, False, True, False]
    assert sim.world.episode.numpy().tolist() == [0, 1, 0, 0, 1, 0]
    others = [0, 2, 3, 5]
    for _ in range(5):
        sim.step(good)
        calm.step(good)
    np.testing.assert_array_equal(sim["Cart"].sight.numpy()[others], calm["Cart"].sight.numpy()[others])
    assert sim.errors() == []


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite(value: float) -> None:
    sim = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0, world_offset=10)
    sim["Cart"].x.torch()[700] = value
    sim.step(np.zeros(1000, np.int32))
    assert [(f.world, f.step, f.message.partition(":")[0]) for f in sim.errors()] == [
        (710, 0, "x of Cart 0 is not a finite number (written by system 'swing', cartpole.py")
    ]
    assert torch.isfinite(sim["Cart"].sight.torch()).all()


def test_more_faults_than_there_is_room_for() -> None:
    sim = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0)
    sim.step(np.full(1000, 9, np.int32))
    faults = sim.errors()
    assert len(faults) == len({f.world for f in faults}) == 256 and sim.faults_lost == 744
    sim.step(np.zeros(1000, np.int32))
    assert sim.errors() == []


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(wl.DeviceError, match="there is no device 'cuda:99': this machine has"):
        wl.Simulation("CartPole-v1", 4, "cuda:99")
    with wl.Simulation("CartPole-v1", 4, "auto", seed=0) as sim:
        assert sim.device.is_cuda


# -- many simulations ------------------------------------------------------------------------------------------------


def test_simulations_do_not_disturb_each_other(race: wl.Definition, columns) -> None:
    stay = np.zeros((4, 2), np.int32)
    alone = wl.Simulation(race, 4, "cuda:0", seed=1, config={"pace": 2.0})
    for _ in range(10):
        alone.step(stay)
    one = wl.Simulation(race, 4, "cuda:0", seed=1, config={"pace": 2.0})
    two = wl.Simulation(race, 4, "cuda:0", seed=2, config={"pace": np.arange(4.0)})
    host = wl.Simulation(race, 4, "cpu", seed=3)
    for _ in range(10):
        two.step(stay + 1)
        host.step(stay)
        one.step(stay)
    two.close()
    for name, values in columns(alone).items():
        np.testing.assert_array_equal(columns(one)[name], values, err_msg=name)


def used_bytes() -> int:
    wp.synchronize()
    free, total = torch.cuda.mem_get_info(0)
    return total - free


@pytest.mark.alone  # others would allocate and free memory of the GPU meanwhile
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "dropped"])
def test_fifty_simulations_leave_nothing_behind(race: wl.Definition, closed: bool) -> None:
    """Each holds 40 MB or more of device memory."""
    worlds = 500_000

    def live(times: int) -> None:
        for seed in range(times):
            sim = wl.Simulation(race, worlds, "cuda:0", seed=seed)
            assert sim.bytes_per_world * worlds > 40_000_000
            sim.set_config("pace", np.ones(worlds, np.float32))
            sim.step(torch.zeros(worlds, 2, dtype=torch.int32, device="cuda:0"))
            if closed:
                sim.close()
            del sim
            if seed % 5 == 4:
                gc.collect()

    live(5)
    gc.collect()
    torch.cuda.empty_cache()
    before = used_bytes()
    live(50)
    gc.collect()
    torch.cuda.empty_cache()
    assert used_bytes() - before < 100_000_000


def test_a_graph_of_pytorch_that_becomes_garbage_leaves_a_capture_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from worldloom.core.runtime.executor import Executor

    graphs, tensor, launch = [], torch.zeros(4, device="cuda"), Executor.launch
    for _ in range(4):
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            tensor += 1.0

    def littering(*arguments: object, **keywords: object) -> None:
        if graphs:
            cycle: list[object] = [graphs.pop()]
            cycle.append(cycle)
            del cycle
        for _ in range(64):
            [[] for _ in range(64)]
        launch(*arguments, **keywords)

    calm = wl.Simulation("CartPole-v1", 64, "cuda:0", seed=0)
    calm.step()
    monkeypatch.setattr(Executor, "launch", littering)
    thresholds = gc.get_threshold()
    gc.set_threshold(10, 1, 1)
    try:
        sim = wl.Simulation("CartPole-v1", 64, "cuda:0", seed=0)
        sim.step()
    finally:
        gc.set_threshold(*thresholds)
    assert len(graphs) < 4 and np.array_equal(sim["Cart"].sight.numpy(), calm["Cart"].sight.numpy())
