"""Random actions of the benchmarks: a graph of several steps on a GPU plays as one on the CPU, and as public steps."""

import sys
from pathlib import Path

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from random_player import RandomPlayer


def test_the_public_step_on_the_gpu_plays_as_the_graph() -> None:
    in_graph, public = (wl.Simulation("FrozenLake-v1", 50, "cuda:0", seed=5) for _ in range(2))
    RandomPlayer(in_graph, 4).run(10)
    RandomPlayer(public, 4).step_publicly(40)
    for table in in_graph.tables.values():
        for column in table:
            assert (column.numpy() == public.tables[table.table_name][column.field.name].numpy()).all(), column.name


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
            assert (column.numpy() == gpu.tables[table.table_name][column.field.name].numpy()).all(), column.name
