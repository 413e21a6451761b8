"""One world twice: with systems alone, and with kernels of its own that do the same."""

from __future__ import annotations

import warp as wp

import worldloom as wl

STOCK = 40
SIDE = 20


class Cell(wl.Entity):
    push: wl.Action(wl.Discrete(3))
    stock: wl.Array(wl.uint8, STOCK)
    level: wl.Persistent(wl.Array(wl.uint8, 600))
    seen: wl.Observation(4, SIDE, SIDE, dtype=wl.uint8, low=0, high=255, channels="first")
    age: int
    reward: wl.Reward


class Tank(wl.World):
    rate: wl.Config = 5


@wl.system
def fill(cell: Cell, world: Tank):
    for i in range(STOCK):
        cell.stock[i] = wl.uint8(world.integer(251))


@wl.system
def churn(cell: Cell, world: Tank):
    for i in range(STOCK):
        cell.stock[i] = wl.uint8((int(cell.stock[i]) * 3 + i + world.rate + cell.push) % 251)
    cell.level[599] = wl.uint8((int(cell.level[599]) + 1) % 251)


@wl.system
def grow_old(cell: Cell):
    cell.age += 1


@wl.system
def pay(cell: Cell):
    cell.reward = float(int(cell.stock[1])) / 10.0


@wl.system
def judge(world: Tank):
    for cell in world.all(Cell):
        if cell.id == 0 and int(cell.stock[0]) % 6 == 0:
            world.terminate()


@wl.system
def paint(cell: Cell):
    for a in range(4):
        for b in range(SIDE):
            for c in range(SIDE):
                cell.seen[a, b, c] = wl.uint8((int(cell.stock[(b * SIDE + c) % STOCK]) + a) % 251)


@wp.kernel
def churn_kernel(
    first: wp.int32,
    rows: wp.int32,
    mask: wp.array(dtype=wp.bool),
    value: wp.bool,
    rate: wp.array(dtype=wp.int32),
    push: wp.array(dtype=wp.int32),
    stock: wp.array2d(dtype=wp.uint8),
    level: wp.array2d(dtype=wp.uint8),
):
    row = first * rows + wp.tid()
    world = row / rows
    if wl.picked(mask, value, world):
        for i in range(STOCK):
            stock[row, i] = wp.uint8(
                (wp.int32(stock[row, i]) * 3 + i + rate[wp.min(world, rate.shape[0] - 1)] + push[row]) % 251
            )
        level[row, 599] = wp.uint8((wp.int32(level[row, 599]) + 1) % 251)


@wp.kernel
def judge_kernel(
    first: wp.int32,
    rows: wp.int32,
    mask: wp.array(dtype=wp.bool),
    value: wp.bool,
    stock: wp.array2d(dtype=wp.uint8),
    over: wp.array(dtype=wp.bool),
):
    world = first + wp.tid()
    if wl.picked(mask, value, world) and stock[world * rows, 0] % wp.uint8(6) == wp.uint8(0):
        over[world] = True


@wp.kernel
def paint_kernel(
    first: wp.int32,
    rows: wp.int32,
    mask: wp.array(dtype=wp.bool),
    value: wp.bool,
    stock: wp.array2d(dtype=wp.uint8),
    seen: wp.array4d(dtype=wp.uint8),
):
    number, b, c = wp.tid()
    row = first * rows + number
    if wl.picked(mask, value, row / rows):
        for a in range(4):
            seen[row, a, b, c] = wp.uint8((wp.int32(stock[row, (b * SIDE + c) % STOCK]) + a) % 251)


class Kernel(wl.Launch):
    """Launches one kernel over the cells or the worlds of a shard, with the columns that it names as inputs."""

    def __init__(self, kernel, columns, writes, shape=(), per_world=False):
        self.kernel, self.columns, self.shape, self.per_world = kernel, columns, shape, per_world
        self.label, self.reads, self.writes = (
            kernel.key.removesuffix("_kernel"),
            {Cell: (), Tank: ()},
            {Cell: (), Tank: ()},
        )
        for kind, name in columns:
            self.reads[kind] += (name,)
            if name in writes:
                self.writes[kind] += (name,)

    def prepare(self, simulation):
        return simulation.schedule.counts["Cell"], [simulation[kind][name] for kind, name in self.columns]

    def launch(self, prepared, shard):
        rows, columns = prepared
        inputs = [shard.first, rows, shard.mask, shard.value, *(column.array for column in columns)]
        items = shard.count * (1 if self.per_world else rows)
        wp.launch(self.kernel, dim=(items, *self.shape), inputs=inputs, device=shard.device, stream=shard.stream)

    def digest(self):
        return self.kernel.key


class Note(Kernel):
    """Declares reads and writes, and launches nothing."""

    def __init__(self, label: str, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> None:
        self.label, self.reads, self.writes = label, {Cell: reads}, {Cell: writes}

    def prepare(self, simulation: wl.Simulation) -> None: ...

    def launch(self, prepared: None, shard: wl.Shard) -> None: ...


CHURN = Kernel(churn_kernel, [(Tank, "rate"), (Cell, "push"), (Cell, "stock"), (Cell, "level")], ("stock", "level"))
JUDGE = Kernel(judge_kernel, [(Cell, "stock"), (Tank, "terminated")], ("terminated",), per_world=True)
PAINT = Kernel(paint_kernel, [(Cell, "stock"), (Cell, "seen")], ("seen",), shape=(SIDE, SIDE))

OF_SYSTEMS = wl.Definition(
    "Tank-test",
    Tank,
    {Cell: 2},
    reset=(fill, churn),
    step=(churn, grow_old, pay, judge),
    observe=(paint,),
    max_steps=9,
    worlds_per_thread=2,
)
OF_LAUNCHES = wl.Definition(
    "Tank-test",
    Tank,
    {Cell: 2},
    reset=(fill, CHURN),
    step=(CHURN, grow_old, pay, JUDGE),
    observe=(PAINT,),
    max_steps=9,
    worlds_per_thread=2,
)
