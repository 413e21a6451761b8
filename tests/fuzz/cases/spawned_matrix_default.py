"""A spawned entity whose matrix was not given stopped the interpreter, where another spawn gave one."""

import worldloom as wl

RUN = {"num_worlds": 1, "steps": 1, "seed": 1, "autoreset": "disabled", "fill": None}


class B(wl.Entity):
    n: int


class C(wl.Entity):
    m: wl.mat22


class Field(wl.World):
    pass


@wl.system
def born(e: B, world: Field):
    world.spawn(C, m=wl.mat22(1.0, 2.0, 3.0, 4.0))
    world.spawn(C)


DEFINITION = wl.Definition(id="spawned-matrix-default", world=Field, entities={B: 1, C: wl.UpTo(2)}, step=(born,))

EXPECTED = {"C.m": [[[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
