"""A world whose population is given one task per step: spawn, leave, follow, overflow and others."""

import worldloom as wl

NOTHING, SPAWN, LEAVE, FOLLOW, BUZZ, TOO_MANY, REPLACE, TWICE, CLEAR, TRADE, CAST_OUT = range(11)
ROOM = 5


class Striped(wl.Components):
    stripes: int = 3


class Bee(wl.Entity, Striped):
    number: int = 5
    place: wl.vec2 = (1.0, 2.0)
    awake: bool = True
    mate: wl.Ref["Bee"]
    cells: wl.Array(float, 2)
    small: wl.uint8 = 200
    hums: int


class Wasp(wl.Entity, Striped):
    """One at most, for worlds with room for one."""


class Buzz(wl.Event):
    who: wl.Ref[Bee]
    loud: float = 0.5


class Hive(wl.World):
    task: int
    chosen: wl.Ref[Bee]
    at_once: int  # how many bees there are in the system that changes it
    later: int  # and in the next
    at_once_alive: bool
    later_alive: bool
    got: int
    heard: int
    noise: wl.Info(int)


@wl.system
def settle_in(world: Hive):
    world.spawn(Bee, number=1, awake=False)
    world.chosen = world.spawn(Bee, number=2, place=wl.vec2(3.0, 4.0))
    world.spawn(Bee, mate=world.chosen)


@wl.system
def work(world: Hive):
    if world.task == SPAWN:
        world.chosen = world.spawn(Bee, number=10, mate=world.chosen)
        world.spawn(Bee, number=11)
        world.spawn(Wasp)
    elif world.task == LEAVE:
        for bee in world.all(Bee):
            if bee.number == 2:
                bee.despawn()
    elif world.task == FOLLOW:
        world.got = world.chosen.get().number
    elif world.task == BUZZ:
        world.spawn(Buzz, who=world.chosen)
        world.spawn(Buzz, loud=2.0)
    elif world.task == TOO_MANY:
        for k in range(7):
            world.spawn(Bee, number=100 + k)
    elif world.task == REPLACE:
        for bee in world.all(Bee):
            bee.despawn()
            world.spawn(Bee, number=bee.number + 20, mate=bee.ref)
    elif world.task == TWICE:
        for bee in world.all(Bee):
            if bee.id == 0:
                bee.despawn()
                bee.despawn()
    elif world.task == CLEAR:
        for bee in world.all(Bee):
            bee.despawn()
    elif world.task == TRADE and world.chosen.alive:
        world.chosen.get().despawn()
        world.chosen = world.spawn(Bee, number=30)
    elif world.task == CAST_OUT:
        world.chosen.get().despawn()
    world.at_once = world.count(Bee)
    world.at_once_alive = world.chosen.alive


@wl.system
def look_again(world: Hive):
    world.later = world.count(Bee)
    world.later_alive = world.chosen.alive


@wl.system
def hum(bee: Bee):
    bee.hums += 1
    bee.cells[1] += 0.5


@wl.system
def hear(buzz: Buzz, world: Hive):
    world.heard += 1
    if buzz.who.alive:
        buzz.who.get().hums += 10


@wl.system
def paint(thing: wl.Has(Striped)):
    thing.stripes += 1


@wl.system
def listen(world: Hive):
    world.noise = world.count(Buzz)


def hive(overflow: str = "error", room: int = ROOM, **options) -> wl.Definition:
    settings = {"reset": (settle_in,), "step": (work, look_again, hum, hear, paint), "observe": (listen,), **options}
    return wl.Definition(
        f"Hive-{overflow}",
        Hive,
        {Bee: wl.UpTo(room, overflow=overflow), Wasp: wl.UpTo(1, overflow="drop"), Buzz: wl.UpTo(4)},
        **settings,
    )


HIVE = hive()


def step(sim: wl.Simulation, *tasks: int) -> None:
    """One step for each task, the same in every world."""
    for task in tasks:
        sim.world.task.fill(task)
        sim.step()


def bees(sim: wl.Simulation, name: str = "number", world: int = 0) -> list:
    return sim[Bee][name].numpy()[world, : sim[Bee].counts.numpy()[world]].tolist()
