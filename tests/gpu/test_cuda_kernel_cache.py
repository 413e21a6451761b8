"""Damaged files of compiled CUDA kernels are detected and compiled again; batches too large for a GPU are refused."""

import numpy as np
import pytest
import torch
import warp as wp

import worldloom as wl
from worldloom.core.base.caches import kernel_cache
from worldloom.core.codegen.program import _CACHE


class Coin(wl.Entity):
    side: int = 0
    pick: wl.Action(wl.Discrete(2))


class Table(wl.World):
    pass


@wl.system
def flip(coin: Coin, world: Table):
    coin.side = 1 - coin.side


FLIP = wl.Definition("CudaKernelCacheCoin-v0", Table, {Coin: 1}, step=(flip,))


def forget():
    for kernels in _CACHE.values():
        module = next(iter(kernels.values())).module
        if "worldloom_cuda" in module.name:
            module.unload()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "kernels"))
    monkeypatch.setattr(kernel_cache, "_temporary", None)
    forget()
    yield tmp_path / "kernels"
    forget()


def flips():
    simulation = wl.Simulation(FLIP, 2, "cuda:0", seed=0)
    simulation.step()
    return simulation[Coin].side.numpy().ravel().tolist()


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]],
)
def test_a_damaged_binary_is_compiled_anew(cache, damage):
    assert flips() == [1, 1]
    (file,) = [file for folder in cache.iterdir() for file in folder.iterdir() if file.suffix in (".cubin", ".ptx")]
    before = file.read_bytes()
    file.write_bytes(damage(before))
    forget()
    assert flips() == [1, 1]
    assert len(file.read_bytes()) == len(before)


def test_a_batch_beyond_the_gpus_memory_is_refused_at_once():
    with pytest.raises(
        wl.InputError,
        match=r"100,000,000 worlds of 'TagGrid-v0' need [\d,.]+ GiB of memory on cuda:0, and [\d,.]+ GiB are available",
    ):
        wl.Simulation("TagGrid-v0", 100_000_000, "cuda:0")  # 400 GiB


def test_actions_beyond_32_bits():
    simulation = wl.Simulation(FLIP, 2, "cuda:0", seed=0)
    simulation.step(np.array([[2**40], [0]]))
    simulation.step(torch.tensor([[0], [2**40]], device="cuda:0"))
    assert [fault.message for fault in simulation.errors()] == [
        f"action Coin.pick is {2**40}, which is not in 0 to 1",
        f"action Coin.pick is {2**31 - 1} or more, which is not in 0 to 1",
    ]
