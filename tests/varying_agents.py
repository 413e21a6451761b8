"""A world whose agents come and go: workers that quit with action 3, and a manager that fills free places."""

import numpy as np

import worldloom as wl

QUIT = 3
ROWS = 3


class Worker(wl.Entity):
    number: int
    age: int
    order: wl.Action(wl.Discrete(4))
    badge: wl.Observation(2)  # number and age
    pay: wl.Reward
    served: wl.Info(int)


class Office(wl.World):
    hired: int
    hires: wl.Config = 1
    staff: wl.Config = 2


@wl.system
def open_office(world: Office):
    for _ in range(world.staff):
        world.spawn(Worker, number=world.hired)
        world.hired += 1


@wl.system
def work(worker: Worker):
    worker.age += 1
    worker.served = worker.age
    worker.pay = float(worker.order)
    if worker.order == QUIT:
        worker.pay = -5.0
        worker.despawn()


@wl.system
def hire(world: Office):
    if world.count(Worker) < ROWS and world.hires > 0:
        world.spawn(Worker, number=world.hired)
        world.hired += 1


@wl.system
def show(worker: Worker):
    worker.badge = wl.vec2(float(worker.number), float(worker.age))


OFFICE = wl.Definition(
    "Office-test",
    Office,
    {Worker: wl.UpTo(ROWS, agents=True)},
    reset=(open_office,),
    step=(work, hire),
    observe=(show,),
    max_steps=10,
)


def office(device: str = "python", num_worlds: int = 1, **options: object) -> wl.Simulation:
    return wl.Simulation(OFFICE, num_worlds, device, seed=0, **options)


def orders(*values: int) -> dict[str, np.ndarray]:
    """The same actions of the rows for one world."""
    return {"Worker.order": np.array([values], np.int32)}


def numbers(simulation: wl.Simulation, world: int = 0) -> list[int | None]:
    """The number of the worker in each agent row of a world; None for a free row."""
    rows = simulation[Worker].agent_rows
    badges, active = rows.badge.numpy()[world], rows.active.numpy()[world]
    return [int(badge[0]) if there else None for badge, there in zip(badges, active, strict=True)]
