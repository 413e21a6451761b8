"""FrozenLake: cross the slippery ice from the start to the goal, past the holes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import worldloom as wl
from worldloom import clamp
from worldloom.core.frontend.system import System
from worldloom.core.model.canvas import Canvas, Image, text_width

MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": ("SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"),
}
LETTERS = "SFHG"
START, FROZEN, HOLE, GOAL = range(4)
ROW_STEPS = wl.vec4i(0, 1, 0, -1)  # left, down, right, up
COLUMN_STEPS = wl.vec4i(-1, 0, 1, 0)


def lake(
    desc: Sequence[str] = MAPS["4x4"], id: str = "FrozenLakeOf-v1", max_steps: int = 100, *, replace: bool = False
) -> wl.Definition:
    """Register the lake with the map ``desc`` as ``id`` and return its definition.

    Args:
        desc: Rows of equal length, of the letters S (start), F (frozen), H (hole) and G (goal). An episode begins at
            a start chosen uniformly.
        id: The id of the world.
        max_steps: Steps before truncation; 0 for no limit.
        replace: Whether to replace a world of this id that has other rules.
    """
    letters = "".join(desc)
    if len({len(row) for row in desc}) != 1 or not set(letters) <= set(LETTERS) or "S" not in letters:
        raise wl.InputError(
            f"a lake is made of rows of equal length of the letters {LETTERS} with at least one S, not of {list(desc)}"
        )
    rows, columns, cells = len(desc), len(desc[0]), len(letters)
    Tiles = wl.vec(cells, wl.int8)
    Walker, Lake = _make_kinds(letters, cells, Tiles)
    slide, place, look = _make_systems(Walker, Lake, rows, columns, Tiles)

    def draw(sim: wl.Simulation, world: int) -> Image:
        tiles = sim.world.tiles.numpy()
        return picture(tiles[world % len(tiles)].reshape(rows, columns), int(sim["Walker"].cell.numpy()[world, 0]))

    return wl.register(
        id,
        world=Lake,
        entities={Walker: 1},
        reset=[place],
        step=[slide],
        observe=[look],
        max_steps=max_steps,
        render=draw,
        replace=replace,
    )


def _make_kinds(letters: str, cells: int, Tiles: type) -> tuple[Any, Any]:
    class Walker(wl.Entity):
        cell: wl.Between(int, 0, cells - 1)  # row * columns + column
        move: wl.Action(wl.Discrete(4))  # 0 left, 1 down, 2 right, 3 up
        sight: wl.Observation(wl.Discrete(cells))
        reward: wl.Reward
        prob: wl.Info(float)  # probability of the last transition

    class Lake(wl.World):
        tiles: wl.Config = Tiles(*(LETTERS.index(letter) for letter in letters))
        is_slippery: wl.Config = True
        success_rate: wl.Config = 1.0 / 3.0  # probability of the chosen direction on slippery ice
        reward_schedule: wl.Config = wl.vec3(1.0, 0.0, 0.0)  # at the goal, in a hole, on the ice

    return Walker, Lake


def _make_systems(Walker: Any, Lake: Any, rows: int, columns: int, Tiles: type) -> tuple[System, System, System]:
    """The move on the ice, the choice of a start, and the observation."""
    cells = rows * columns

    @wl.function
    def tile_at(tiles: Tiles, cell: int) -> int:
        return tiles[cell]

    @wl.function
    def moved(cell: int, heading: int) -> int:
        """The next cell in a direction, or the same at the edge of the lake."""
        row = clamp(cell // columns + ROW_STEPS[heading], 0, rows - 1)
        column = clamp(cell % columns + COLUMN_STEPS[heading], 0, columns - 1)
        return row * columns + column

    @wl.system
    def slide(walker: Walker, world: Lake):
        walker.prob = 1.0
        if tile_at(world.tiles, walker.cell) >= HOLE:
            world.terminate()
            return
        heading = walker.move
        if world.is_slippery:
            aside = (1.0 - world.success_rate) / 2.0
            turn = world.weighted(wl.vec3(aside, world.success_rate, aside)) - 1
            heading = (heading + turn) % 4
            walker.prob = world.success_rate if turn == 0 else aside
        walker.cell = moved(walker.cell, heading)
        tile = tile_at(world.tiles, walker.cell)
        if tile >= HOLE:
            world.terminate()
        walker.reward = (
            world.reward_schedule.x
            if tile == GOAL
            else world.reward_schedule.y
            if tile == HOLE
            else world.reward_schedule.z
        )

    @wl.system
    def place(walker: Walker, world: Lake):
        starts = 0
        for cell in range(cells):
            if tile_at(world.tiles, cell) == START:
                starts += 1
                walker.cell = cell
        if starts > 1:
            starts = 0
            for cell in range(cells):
                if tile_at(world.tiles, cell) == START:
                    starts += 1
                    if world.integer(starts) == 0:  # the k-th start replaces the previous one with probability 1/k
                        walker.cell = cell
        walker.prob = 1.0

    @wl.system
    def look(walker: Walker):
        walker.sight = walker.cell

    return slide, place, look


def generate(size: int = 8, p: float = 0.8, seed: int | None = None) -> tuple[str, ...]:
    """A random map of ``size`` rows and columns with a path to the goal; a cell is frozen with probability ``p``.

    The same seed gives the same map as Gymnasium's ``generate_random_map``.
    """
    rng = np.random.default_rng(seed)
    while True:
        board = rng.choice(["F", "H"], (size, size), p=[min(1.0, p), 1.0 - min(1.0, p)])
        board[0, 0], board[-1, -1] = "S", "G"
        if _goal_in_reach(board == "H"):
            return tuple("".join(row) for row in board)


def _goal_in_reach(holes: np.ndarray) -> bool:
    """Whether a path leads from the upper left to the lower right corner; ``holes`` is a mask of cells."""
    reached = np.zeros(holes.shape, bool)
    reached[0, 0] = True
    while True:
        wider = np.pad(reached, 1)
        wider = (reached | wider[2:, 1:-1] | wider[:-2, 1:-1] | wider[1:-1, 2:] | wider[1:-1, :-2]) & ~holes
        if (wider == reached).all():
            return bool(reached[-1, -1])
        reached = wider


def picture(tiles: np.ndarray, cell: int) -> Image:
    """The lake with the walker in a cell; uint8 of shape (height, width, 3). ``tiles`` has shape (rows, columns)."""
    rows, columns = tiles.shape
    size = min(64, 512 // max(rows, columns))
    canvas = Canvas(columns * size, rows * size, (180, 200, 230))
    for row in range(rows):
        for column in range(columns):
            _draw_tile(canvas, int(tiles[row, column]), column * size, row * size, size)
    row, column = divmod(cell, columns)
    if tiles[row, column] != HOLE:
        x, y, unit = (column + 0.5) * size, (row + 0.5) * size, size / 64.0
        canvas.polygon(
            [(x - 14 * unit, y + 22 * unit), (x, y - 8 * unit), (x + 14 * unit, y + 22 * unit)], (46, 139, 87)
        )
        canvas.circle(x, y - 8 * unit, 9 * unit, (244, 204, 166))
        canvas.polygon(
            [(x - 10 * unit, y - 11 * unit), (x + 3 * unit, y - 28 * unit), (x + 10 * unit, y - 11 * unit)],
            (200, 60, 60),
        )
    return canvas.image()


def _draw_tile(canvas: Canvas, tile: int, left: float, top: float, size: float) -> None:
    canvas.rectangle(left + 0.5, top + 0.5, size - 1.0, size - 1.0, (222, 237, 250))
    dot = size / 32.0
    if tile == HOLE:
        canvas.circle(left + size / 2.0, top + size / 2.0, 0.4 * size, (120, 160, 200))
        canvas.circle(left + size / 2.0, top + size / 2.0 + dot, 0.34 * size, (38, 78, 130))
    elif tile != FROZEN:
        letter = LETTERS[tile]
        canvas.text(left + size - text_width(letter, dot) - 2.0 * dot, top + 2.0 * dot, letter, (90, 120, 160), dot)
    if tile == GOAL:
        canvas.line(
            [(left + 0.3 * size, top + 0.85 * size), (left + 0.3 * size, top + 0.15 * size)], (90, 70, 50), 2.0 * dot
        )
        canvas.polygon(
            [
                (left + 0.33 * size, top + 0.15 * size),
                (left + 0.7 * size, top + 0.3 * size),
                (left + 0.33 * size, top + 0.45 * size),
            ],
            (220, 60, 60),
        )


FROZEN_LAKE = lake(MAPS["4x4"], "FrozenLake-v1", max_steps=100)
FROZEN_LAKE_8X8 = lake(MAPS["8x8"], "FrozenLake8x8-v1", max_steps=200)
