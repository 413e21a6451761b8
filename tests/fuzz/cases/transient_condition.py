"""A transient component that only the condition of a system read was never stored on the CPU."""

import worldloom as wl

RUN = {"num_worlds": 2, "steps": 2, "seed": 0, "fill": 0}


class A(wl.Entity):
    n: int
    colour: wl.Transient(int)


class Field(wl.World):
    total: int


@wl.system
def paint(e: A, world: Field):
    e.colour = e.id % 3
    e.n = e.id


@wl.system(where=("colour", (1, 0)))
def run(e: A, world: Field):
    e.n = e.n * 3 + 77
    world.total += 1


DEFINITION = wl.Definition(id="transient-condition", world=Field, entities={A: 4}, reset=(), step=(paint, run))

EXPECTED = {"A.n": [[77, 80, 2, 86], [77, 80, 2, 86]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
