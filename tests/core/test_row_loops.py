"""The rows of the warps of a kernel for a population: each has one, and the warps of a block have the same slot."""

import itertools
from types import SimpleNamespace

import pytest

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.codegen.row_loops import WORLDS_PER_SLOT
from worldloom.core.kernels.population_kernels import WARP_SIZE


class Crane(wl.Entity):
    heights: wl.Array(float, 32)


class Harbour(wl.World):
    pass


@wl.system(threads=WARP_SIZE)
def lift(crane: Crane):
    for k in wl.share(32):
        crane.heights[k] += 1.0


def rows_of_warps(worlds: int, capacity: int) -> list[tuple[int, int, int]]:
    """(world, slot, row) of each warp, by the lines of the kernel before the one that skips rows without a crane."""
    made = wl.Definition("Harbour-v0", Harbour, {Crane: wl.UpTo(capacity)}, step=[lift])
    kernel = generate(wl.Simulation(made, 1, "python").schedule, True, True).text.split("def step_0(")[1]
    lines = [line.strip() for line in kernel.splitlines()]
    lines = lines[lines.index(f"lane = thread % {WARP_SIZE}") :]
    lines = lines[: next(k for k, line in enumerate(lines) if line.startswith("if slot >="))]
    code = compile("\n".join(lines).replace(" / ", " // "), "kernel", "exec")
    found = []
    threads = worlds * capacity * WARP_SIZE
    for thread in range(0, threads, WARP_SIZE):
        space = {"thread": thread, "first": 0, "rows": threads, "wp": SimpleNamespace(min=min)}
        exec(code, space)
        found.append((space["world"], space["slot"], space["row"]))
    return found


@pytest.mark.parametrize("capacity", [1, 2, 3, 7])
def test_every_row_has_a_warp(capacity: int) -> None:
    for worlds in (1, 2, 3, 4, 5, 8, 11):
        rows = [(world, slot, world * capacity + slot) for world in range(worlds) for slot in range(capacity)]
        assert sorted(rows_of_warps(worlds, capacity)) == rows


def test_the_warps_of_a_block_have_one_slot() -> None:
    warps = rows_of_warps(3 * WORLDS_PER_SLOT + 1, 3)
    blocks = [warps[start : start + WORLDS_PER_SLOT] for start in range(0, 9 * WORLDS_PER_SLOT, WORLDS_PER_SLOT)]
    for block, (group, slot) in zip(blocks, itertools.product(range(3), range(3)), strict=True):
        assert [found[:2] for found in block] == [(4 * group + k, slot) for k in range(4)]
