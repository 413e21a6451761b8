"""The random actions of the benchmarks are uniform, respect masks, and equal Philox in plain Python."""

import sys
from pathlib import Path

import numpy as np
import warp as wp

import worldloom as wl
from worldloom.core.kernels.random import philox_python

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from random_player import STREAM, RandomPlayer, draw_allowed, draw_two, step_seconds

WORLDS, TAGGERS, RUNNERS = 3000, 5, 3


def key():
    """Seed, episode and step of every world."""
    return [
        wp.full(WORLDS, value, dtype=kind, device="cpu")
        for value, kind in ((7, wp.uint32), (2, wp.int32), (31, wp.int32))
    ]


def test_two_kinds_with_other_choices_each():
    taggers, runners = (wp.full(WORLDS * n, -1, dtype=wp.int32, device="cpu") for n in (TAGGERS, 2 * RUNNERS))
    quads = 2 + 2  # blocks of four numbers: five actions of one choice, three of two
    inputs = [0, *key(), taggers, TAGGERS, wp.vec4i(5, 1, 1, 1), 1, runners, 2 * RUNNERS, wp.vec4i(11, 4, 1, 1), 2]
    wp.launch(draw_two, WORLDS * quads, inputs=inputs, device="cpu")
    parts = runners.numpy().reshape(-1, 2)
    for drawn, choices in ((taggers.numpy(), 5), (parts[:, 0], 11), (parts[:, 1], 4)):
        counts = np.bincount(drawn, minlength=choices)
        assert len(counts) == choices
        assert np.abs(counts / len(drawn) - 1.0 / choices).max() < 0.02
    moves = taggers.numpy().reshape(WORLDS, TAGGERS)
    for one, other in ((moves[1:], moves[:-1]), (moves[:, 1:], moves[:, :-1])):  # worlds and agents draw apart
        assert abs((one == other).mean() - 0.2) < 0.02


def test_only_allowed_choices():
    masks = np.zeros((WORLDS * TAGGERS, 4), np.int8)
    masks[:, [1, 3]] = 1
    masks[::2, 3] = 0
    drawn = wp.full((WORLDS * TAGGERS, 1), -1, dtype=wp.int32, device="cpu")
    wp.launch(
        draw_allowed,
        len(masks),
        inputs=[0, 0, *key(), drawn, wp.array(masks, dtype=wp.int8, device="cpu"), TAGGERS],
        device="cpu",
    )
    found = drawn.numpy()[:, 0]
    assert (found[::2] == 1).all()
    assert abs((found[1::2] == 1).mean() - 0.5) < 0.03
    assert set(found[1::2]) == {1, 3}


def test_a_recorded_player_steps_as_by_hand():
    played, stepped = (wl.Simulation("CartPole-v1", 6, "cpu", seed=3, threads=2) for _ in range(2))
    RandomPlayer(played, 5).run(6)
    for _ in range(30):
        keys = zip(stepped.world.seed.numpy(), stepped.world.episode.numpy(), stepped.world.step.numpy(), strict=True)
        words = [philox_python((0, int(STREAM), int(t), int(e)), (int(s), w))[0] for w, (s, e, t) in enumerate(keys)]
        stepped.step(np.array([[word * 2 >> 32] for word in words], np.int32))
    for table in stepped.tables.values():
        for column in table:
            assert (column.numpy() == played.tables[table.table_name][column.field.name].numpy()).all(), column.name
    assert stepped.world.episode.numpy().sum() > 0


def columns(sim: wl.Simulation) -> dict[str, np.ndarray]:
    return {column.name: column.numpy() for table in sim.tables.values() for column in table}


def test_public_steps_are_those_of_the_graph():
    in_graph, public = (wl.Simulation("CartPole-v1", 6, "cpu", seed=3, threads=2) for _ in range(2))
    RandomPlayer(in_graph, 5).run(6)
    RandomPlayer(public, 5).step_publicly(30)
    assert in_graph.world.episode.numpy().sum() > 0
    expected = columns(in_graph)
    for name, values in columns(public).items():
        assert (values == expected[name]).all(), name


def test_the_graph_and_both_interfaces_are_timed():
    with wl.make("CartPole-v1", 4, env_type="torch", seed=0) as env:
        env.reset()
        player = RandomPlayer(env.simulation, 3)
        found, without = step_seconds(player, 0.02, env), step_seconds(player, 0.02)
        assert found.graph > 0.0 and found.public > 0.0 and found.env is not None and found.env > 0.0
        assert without.env is None
        assert env.simulation.world.episode.numpy().sum() > 0  # the same worlds were stepped
