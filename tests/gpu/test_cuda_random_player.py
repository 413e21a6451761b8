"""The random actions of the benchmarks: a graph of several steps on the GPU plays as one on the CPU."""

import sys
from pathlib import Path

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from random_player import RandomPlayer


def test_a_player_on_the_gpu_plays_as_on_the_cpu() -> None:
    played = []
    for device in ("cpu", "cuda:0"):
        sim = wl.Simulation("FrozenLake-v1", 50, device, seed=5)
        RandomPlayer(sim, 4).run(10)
        played.append(sim)
    cpu, gpu = played
    assert cpu.world.episode.numpy().sum() > 0
    for table in cpu.tables.values():
        for column in table:
            assert (column.numpy() == gpu.tables[table.name][column.field.name].numpy()).all(), column.name
