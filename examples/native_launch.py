"""A custom kernel in the schedule: Conway's Game of Life in C++, between systems in plain Python."""

import numpy as np
import warp as wp

import worldloom as wl
from worldloom.core.tools.compare import compare

SIDE = 16


class Dish(wl.Entity):
    plant: wl.Action(wl.Discrete(SIDE * SIDE))  # a cell that comes to life before the others move on
    cells: wl.Observation(SIDE, SIDE, dtype=wl.uint8, low=0, high=1)  # the edges meet
    reward: wl.Reward


class Life(wl.World): ...


GENERATION = """
    unsigned char *now = cells.data + dish * 256, *next = after.data + dish * 256;
    for (int cell = 0; cell < 256; cell++) {
        int around = -now[cell];  // all nine of its block but itself
        for (int n = 0; n < 9; n++) around += now[(cell / 16 + 15 + n / 3) % 16 * 16 + (cell + 15 + n % 3) % 16];
        next[cell] = around == 3 || (around == 2 && now[cell]);
    }
    for (int cell = 0; cell < 256; cell++) now[cell] = next[cell];
"""


@wp.func_native(GENERATION)
def generation(dish: wp.int32, cells: wp.array3d(dtype=wp.uint8), after: wp.array3d(dtype=wp.uint8)): ...


@wp.kernel
def grow(
    first: wp.int32,
    mask: wp.array(dtype=wp.bool),
    value: wp.bool,
    cells: wp.array3d(dtype=wp.uint8),
    after: wp.array3d(dtype=wp.uint8),
):
    world = first + wp.tid()
    if wl.picked(mask, value, world):
        generation(world, cells, after)


class Grow(wl.Launch):
    reads = writes = {Dish: ("cells",)}

    def prepare(self, simulation: wl.Simulation):
        cells = simulation[Dish].cells.array  # (num_worlds, SIDE, SIDE)
        return [cells, wp.empty_like(cells)]

    def launch(self, prepared, shard: wl.Shard):
        wp.launch(
            grow,
            dim=shard.count,
            inputs=[shard.first, shard.mask, shard.value, *prepared],
            device=shard.device,
            stream=shard.stream,
        )

    def digest(self) -> str:
        return GENERATION


@wl.system
def sow(dish: Dish, world: Life):
    for cell in range(SIDE * SIDE):
        dish.cells[cell // SIDE, cell % SIDE] = wl.uint8(world.integer(2))


@wl.system
def plant(dish: Dish):
    dish.cells[dish.plant // SIDE, dish.plant % SIDE] = wl.uint8(1)


@wl.system
def count(dish: Dish, world: Life):
    alive = 0
    for cell in range(SIDE * SIDE):
        alive += int(dish.cells[cell // SIDE, cell % SIDE])
    dish.reward = float(alive)
    if alive < 3:
        world.terminate()


move_on = Grow()
WORLD = wl.register(
    "Life-v0",
    world=Life,
    entities={Dish: 1},
    reset=[sow, move_on],
    step=[plant, move_on, count],
    max_steps=100,
    worlds_per_thread=64,
)

if __name__ == "__main__":
    sim = wl.Simulation("Life-v0", num_worlds=256, seed=0)
    sim[Dish].cells.numpy()[:, 0, 0, 0] = 1  # where action 0 plants
    before = sim[Dish].cells.numpy()[:, 0].copy()
    sim.step(np.zeros((256, 1), np.int32))
    around = sum(np.roll(before, (dy, dx), (1, 2)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - before
    print(
        "as in NumPy:", np.array_equal(sim[Dish].cells.numpy()[:, 0], (around == 3) | ((around == 2) & (before == 1)))
    )
    print("in the same graph as the systems:", not sim.has_host_calls and len(sim.executor.segments[0]) == 1)
    print("python and cpu agree:", compare(WORLD, ("python", "cpu"), num_worlds=3, steps=5) is None)
