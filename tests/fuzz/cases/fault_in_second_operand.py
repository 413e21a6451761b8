"""An index out of range on the right of &, | and in, or in a value of &=, was no fault where the left side decided."""

import worldloom as wl

RUN = {"num_worlds": 5, "steps": 1, "seed": 1, "autoreset": "disabled", "fill": None}


class B(wl.Entity):
    flag: bool
    n: int = 5
    a: wl.Array(int, 3)


class C(wl.Entity):
    mark: bool
    seen: int


class Field(wl.World):
    pass


@wl.system
def look(e: B, world: Field):
    if world.id == 0:
        e.flag = e.flag & (e.a[e.n] > 0)
    elif world.id == 1:
        e.flag = (not e.flag) | (e.a[e.n] > 0)
    elif world.id == 2:
        e.flag = e.n in (5, e.a[e.n])
    elif world.id == 3:
        for o in world.all(C):
            o.mark &= e.a[e.n] > 0
    elif e.flag and e.a[e.n] > 0:  # Python leaves this one out
        e.n = 0


DEFINITION = wl.Definition(id="fault-in-second-operand", world=Field, entities={B: 1, C: 1}, step=(look,))

EXPECTED = {"World.truncated": [[True], [True], [True], [True], [False]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
