"""The negative of the least int was undefined: a bound on it was dropped, and memory outside the array was written."""

import worldloom as wl

RUN = {"num_worlds": 1, "steps": 1, "seed": 1, "autoreset": "disabled", "fill": None}


class A(wl.Entity):
    n: int = -2147483648
    cells: wl.Array(wl.int64, 2, 2)


class Field(wl.World):
    pass


@wl.system
def mark(e: A):
    e.cells[wl.clamp(-e.n, 0, 1), 0] |= 1


DEFINITION = wl.Definition(id="negated-least-int", world=Field, entities={A: 2}, step=(mark,))

EXPECTED = {"A.cells": [[[[1, 0], [0, 0]], [[1, 0], [0, 0]]]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
