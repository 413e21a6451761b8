"""A world whose agents enter when an episode begins, and stay until its end; their number is configuration."""

import numpy as np

import worldloom as wl

SEATS = 4
COURSES = 3


class Guest(wl.Entity):
    number: int
    eaten: int
    order: wl.Action(wl.Discrete(3))
    plate: wl.Observation(COURSES, 2)
    mood: wl.Observation(dtype=float)
    late: wl.Observation(dtype=bool)
    served: wl.Info(int)
    pay: wl.Reward


class Party(wl.World):
    guests: wl.Config = 2
    length: wl.Config = 3
    clock: int


@wl.system
def invite(world: Party):
    world.clock = 0
    for number in range(world.guests):
        world.spawn(Guest, number=number + 1)


@wl.system
def greet(guest: Guest, world: Party):
    guest.plate[COURSES - 1, 1] = 0.5 * float(guest.number) + world.random()


@wl.system
def eat(guest: Guest):
    guest.served += guest.order + 1
    guest.eaten += guest.order
    guest.pay = float(guest.order)


@wl.system
def end(world: Party):
    world.clock += 1
    if world.clock >= world.length:
        world.terminate()


@wl.system
def look(guest: Guest, world: Party):
    """Writes one course of three, so that the others are those of earlier steps."""
    course = wl.clamp((guest.number + world.clock) % COURSES, 0, COURSES - 1)
    if guest.eaten != 2:
        guest.plate[course, 0] = 10.0 * float(guest.number) + float(world.clock)
    if guest.order == 1:
        guest.mood = float(guest.eaten) + world.random()
        guest.late = guest.number == 2


PARTY = wl.Definition(
    "Party-test",
    Party,
    {Guest: wl.UpTo(SEATS, agents=True)},
    reset=(invite, greet),
    step=(eat, end),
    observe=(look,),
    max_steps=5,
)

EXPORTED = ("plate", "mood", "late", "served")


def party(device: str = "cpu", num_worlds: int = 3, **options: object) -> wl.Simulation:
    """Worlds with episodes of 2, 3, 4, 2, ... steps."""
    simulation = wl.Simulation(PARTY, num_worlds, device, seed=0, **options)
    simulation.set_config("length", np.arange(num_worlds, dtype=np.int32) % 3 + 2)
    return simulation


def orders(step: int, num_worlds: int = 3) -> np.ndarray:
    return np.random.default_rng(step).integers(0, 3, (num_worlds, SEATS), dtype=np.int32)


def set_guests(step: int, *simulations: wl.Simulation) -> None:
    """Another number of guests for the next episode of each world."""
    for simulation in simulations:
        worlds = np.arange(simulation.num_worlds, dtype=np.int32)
        simulation.set_config("guests", (worlds + step) % (SEATS + 1))
