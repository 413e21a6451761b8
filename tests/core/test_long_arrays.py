"""Long arrays: copied and cleared row by row in the selected worlds only, for all types and sizes."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.model.launch import LaunchNode
from worldloom.core.schedule import generated_systems
from worldloom.core.schedule.long_arrays import LONG, ArrayCopy
from worldloom.core.schedule.schedule import plan
from worldloom.core.schedule.table_views import make_table_views
from worldloom.core.tools.compare import compare


class Reel(wl.Entity):
    frames: wl.Observation(3, 19, 23, dtype=wl.uint8, low=0, high=255)  # 1,311 bytes: one at a time
    words: wl.Array(wl.int16, 2, LONG // 2 + 1) = 7  # 2,052 bytes: four at a time
    points: wl.Array(wl.vec3, LONG + 4) = wl.vec3(1.0, 2.0, 3.0)  # 16 at a time
    flags: wl.Array(bool, LONG + 1) = True
    film: wl.Persistent(wl.Array(wl.uint8, 2, 600))
    ends: int


class Cinema(wl.World):
    hall: wl.Info(wl.uint8, LONG + 16)
    years: wl.Finite(wl.Array(int, LONG))


@wl.system
def show(reel: Reel, world: Cinema):
    reel.frames[2, 18, 22] = wl.uint8(world.step + 1)
    reel.words[1, LONG // 2] += wl.int16(world.id)
    reel.points[LONG + 3] += wl.vec3(1.0, 1.0, 1.0)
    reel.flags[LONG] = False
    reel.film[1, 599] += wl.uint8(1)
    if world.id % 3 == world.step:
        world.terminate()


@wl.system
def close_hall(world: Cinema):
    world.hall[LONG + 15] = wl.uint8(world.step + 1)


CINEMA = wl.Definition("Cinema-test", Cinema, {Reel: 2}, step=(show, close_hall), worlds_per_thread=2)


def test_only_worlds_that_end_are_kept_and_cleared() -> None:
    sim = wl.Simulation(CINEMA, 6, seed=0, threads=2)
    reels, hall = sim[Reel], sim.world.hall
    reels.final_frames.fill(99)
    sim.step()  # worlds 0 and 3 end in their first step, the others go on
    over = np.array([True, False, False, True, False, False])
    np.testing.assert_array_equal(sim.terminated.numpy(), over)
    np.testing.assert_array_equal(
        reels.final_frames.numpy()[:, :, 2, 18, 22], np.where(over, 1, 99)[:, None].repeat(2, 1)
    )
    assert (reels.final_frames.numpy()[over][:, :, 0] == 0).all() and (reels.final_frames.numpy()[~over] == 99).all()
    np.testing.assert_array_equal(reels.frames.numpy()[:, 0, 2, 18, 22], np.where(over, 0, 1))
    np.testing.assert_array_equal(reels.words.numpy()[:, 1, 1, LONG // 2], np.where(over, 7, 7 + np.arange(6)))
    assert (reels.words.numpy()[:, :, 0] == 7).all()
    np.testing.assert_array_equal(reels.points.numpy()[:, 1, LONG + 3, 2], np.where(over, 3.0, 4.0))
    assert (reels.points.numpy()[:, :, : LONG + 3] == [1.0, 2.0, 3.0]).all()
    np.testing.assert_array_equal(reels.flags.numpy()[:, 0, LONG], over)
    assert (reels.film.numpy()[:, :, 1, 599] == 1).all(), "what outlives an episode is not touched"
    np.testing.assert_array_equal(sim.world.final_hall.numpy()[:, LONG + 15], np.where(over, 1, 0))
    np.testing.assert_array_equal(hall.numpy()[:, LONG + 15], np.where(over, 0, 1))
    sim.reset(np.array([False, True, False, False, False, False]))
    np.testing.assert_array_equal(reels.frames.numpy()[:, 0, 2, 18, 22], [0, 0, 1, 0, 1, 1])
    assert (reels.film.numpy()[:, :, 1, 599] == 1).all()


def test_interpreted_as_compiled() -> None:
    assert compare(CINEMA, ("python", "cpu"), num_worlds=4, steps=7) is None


def test_external_memory_that_begins_anywhere() -> None:
    memory = np.zeros(2 * 1311 + 1, np.uint8)[1:].reshape(1, 2, 3, 19, 23)
    sim = wl.Simulation(CINEMA, 1, seed=0, external={"Reel.frames": memory})
    memory[...] = 5
    sim.step()
    assert sim.terminated.numpy().all() and (memory == 0).all()
    assert (sim[Reel].final_frames.numpy()[0, :, :2] == 5).all() and (
        sim[Reel].final_frames.numpy()[0, :, 2, 18, 22] == 1
    ).all()


@pytest.mark.parametrize(
    ("size", "shift", "width"), [(1040, 0, 16), (1028, 0, 4), (1040, 4, 4), (1025, 0, 1), (1040, 1, 1)]
)
def test_rows_are_moved_in_the_widest_pieces_that_fit(size: int, shift: int, width: int) -> None:
    class Strip(wl.Entity):
        cells: wl.Array(wl.uint8, size)

    memory = wp.zeros(2 * size + 32, dtype=wp.uint8, device="cpu")
    start = -memory.ptr % 16 + shift
    given = {"Strip.cells": memory[start : start + 2 * size].reshape((2, 1, size))}
    sim = wl.Simulation(wl.Definition("Strip-test", Cinema, {Strip: 1}), 2, "python", external=given)
    (move,) = {
        id(e.launch): e.launch
        for e in sim.schedule.reset
        if isinstance(e, LaunchNode) and e.label == "clear_Strip_arrays"
    }.values()
    assert isinstance(move, ArrayCopy)
    ((_, source, found),) = sim.prepared[id(move)][1]
    assert found == width and source.shape == (1, size)


def test_whole_numbers_are_finite() -> None:
    views = make_table_views(CINEMA, keep_final=True)
    assert generated_systems.check_finite(
        views["World"], Cinema, observations=False, writers=lambda view, name: ""
    ) == (
        None,
        None,
    )
    labels = [e.label for e in plan(CINEMA, "same_step", checks=True).step]
    assert not any("bad" in label for label in labels)
