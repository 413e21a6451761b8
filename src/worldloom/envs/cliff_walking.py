"""CliffWalking: walk from start to goal along the edge of a cliff, and do not fall."""

import functools

import worldloom as wl
from worldloom import clamp
from worldloom.core.model.canvas import Canvas, Image

ROWS, COLUMNS = 4, 12
START, GOAL = 36, 47  # cells, row * COLUMNS + column; the cliff lies between them
ROW_STEPS = wl.vec4i(-1, 0, 1, 0)  # up, right, down, left
COLUMN_STEPS = wl.vec4i(0, 1, 0, -1)


class Walker(wl.Entity):
    cell: wl.Between(int, 0, ROWS * COLUMNS - 1)  # row * COLUMNS + column
    move: wl.Action(wl.Discrete(4))  # 0 up, 1 right, 2 down, 3 left
    sight: wl.Observation(wl.Discrete(ROWS * COLUMNS))
    reward: wl.Reward
    prob: wl.Info(float)  # probability of the last transition


class Cliff(wl.World):
    is_slippery: wl.Config = False  # whether moves go forward, left and right with equal probability


class SlipperyCliff(Cliff):
    is_slippery: wl.Config = True


@wl.function
def moved(cell: int, heading: int) -> int:
    """The next cell in a direction, or the same at the edge of the land."""
    row = clamp(cell // COLUMNS + ROW_STEPS[heading], 0, ROWS - 1)
    column = clamp(cell % COLUMNS + COLUMN_STEPS[heading], 0, COLUMNS - 1)
    return row * COLUMNS + column


@wl.system
def walk(walker: Walker, world: Cliff):
    heading = walker.move
    walker.prob = 1.0
    if world.is_slippery:
        heading = (heading + world.integer(-1, 2)) % 4
        walker.prob = 1.0 / 3.0
    walker.cell = moved(walker.cell, heading)
    walker.reward = -1.0


@wl.system
def judge(walker: Walker, world: Cliff):
    if walker.cell == GOAL:
        world.terminate()
    elif walker.cell > START:
        walker.cell = START
        walker.reward = -100.0


@wl.system
def place(walker: Walker):
    walker.cell = START
    walker.prob = 1.0


@wl.system
def look(walker: Walker):
    walker.sight = walker.cell


def draw(sim: wl.Simulation, world: int) -> Image:
    size = 64.0
    canvas = Canvas(COLUMNS * 64, ROWS * 64, (120, 96, 66))
    for cell in range(ROWS * COLUMNS):
        left, top = cell % COLUMNS * size, cell // COLUMNS * size
        if START < cell < GOAL:
            canvas.rectangle(left, top, size, size, (60, 66, 84))
            canvas.polygon(
                [
                    (left, top),
                    (left + size, top),
                    (left + size, top + 14),
                    (left + size / 2, top + 24),
                    (left, top + 14),
                ],
                (120, 96, 66),
            )
        else:
            canvas.rectangle(left + 0.5, top + 0.5, size - 1.0, size - 1.0, (150, 190, 110))
    canvas.text(8.0, 3 * size + 8.0, "S", (70, 100, 50), 3.0)
    canvas.text(11 * size + 8.0, 3 * size + 8.0, "G", (70, 100, 50), 3.0)
    canvas.line([(11.5 * size, 3.85 * size), (11.5 * size, 3.25 * size)], (90, 70, 50), 4.0)
    canvas.polygon(
        [(11.53 * size, 3.25 * size), (11.85 * size, 3.38 * size), (11.53 * size, 3.5 * size)], (220, 60, 60)
    )
    cell = int(sim["Walker"].cell.numpy()[world, 0])
    x, y = (cell % COLUMNS + 0.5) * size, (cell // COLUMNS + 0.5) * size
    canvas.polygon([(x - 13.0, y + 24.0), (x, y - 6.0), (x + 13.0, y + 24.0)], (60, 90, 180))
    canvas.circle(x, y - 10.0, 9.0, (244, 204, 166))
    return canvas.image()


register_version = functools.partial(
    wl.register, entities={Walker: 1}, reset=[place], step=[walk, judge], observe=[look], render=draw
)
CLIFF_WALKING = register_version("CliffWalking-v1", world=Cliff)
CLIFF_WALKING_SLIPPERY = register_version(
    "CliffWalkingSlippery-v1", world=SlipperyCliff, doc="CliffWalkingSlippery: the same cliff, after rain."
)
