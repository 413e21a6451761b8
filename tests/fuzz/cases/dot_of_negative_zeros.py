"""A product of vectors of four numbers is added to 0, so that it is 0.0 where all products are -0.0."""

import worldloom as wl

RUN = {"num_worlds": 1, "steps": 1, "seed": 1, "autoreset": "disabled", "fill": None}


class B(wl.Entity):
    long: wl.vec4
    short: wl.vec2
    scale: float = -0.5
    of_long: float
    of_short: float


class Field(wl.World):
    pass


@wl.system
def multiply(e: B):
    e.of_long = 1.0 / wl.dot(e.long, e.scale * e.long)
    e.of_short = 1.0 / wl.dot(e.short, e.scale * e.short)


DEFINITION = wl.Definition(id="dot-of-negative-zeros", world=Field, entities={B: 1}, step=(multiply,))

EXPECTED = {"B.of_long": [["inf"]], "B.of_short": [["-inf"]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
