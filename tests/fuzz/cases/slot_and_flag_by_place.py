"""Slots that do not exist are faults, and flags of agents are read through other entities: the tools of the fuzzer
counted slots below 0 from the end, as indices, and knew no flag of an entity that is found by its slot."""

import worldloom as wl

RUN = {"num_worlds": 3, "steps": 2, "seed": 0, "fill": None}


class A(wl.Entity):
    act: wl.Action(wl.Discrete(2))
    reward: wl.Reward
    n: int


class B(wl.Entity):
    partner: wl.Ref("A")
    n: int


class Field(wl.World):
    total: int


@wl.system
def meet(e: B, world: Field):
    e.partner = world.at(A, e.id).ref


@wl.system
def count(world: Field):
    found = world.at(A, 1)
    if found.active:
        found.n += 1
    other = world.at(B, 0)
    partner = other.partner.get()
    if partner.active:
        world.total += 2


@wl.system
def reach(e: B, world: Field):
    e.n = world.at(A, e.id - world.id).n + 5


DEFINITION = wl.Definition(id="slot-and-flag", world=Field, entities={A: 2, B: 2}, step=(meet, count, reach))

EXPECTED = {"B.n": [[5, 7], [5, 5], [5, 5]], "World.truncated": [[False], [True], [True]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
