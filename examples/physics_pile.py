"""One world of many rigid bodies, solved in parallel: boxes fall into a heap and come to rest."""

import numpy as np

import worldloom as wl
from worldloom import physics

STONES = 60


class Stone(physics.ManyBody):
    pass


class Quarry(physics.World):
    pass


SOLID = physics.systems(Quarry, Stone, shapes=(physics.PLANE, physics.BOX), mapping="many_bodies")


@wl.system
def pour(world: Quarry):
    world.spawn(Stone, shape=physics.PLANE, motion=physics.STATIC)
    for i in range(STONES):
        x, y = 0.7 * float(i % 3) - 0.7, 0.7 * float(i // 3 % 3) - 0.7
        place = wl.vec3(x + world.random(-0.1, 0.1), y + world.random(-0.1, 0.1), 0.4 + 0.6 * float(i // 9))
        world.spawn(Stone, size=wl.vec3(0.3, 0.25, 0.2), position=place)


wl.register(
    "Quarry-v0",
    world=Quarry,
    entities={Stone: wl.UpTo(STONES + 1), **SOLID.entities(pairs=20 * STONES, contacts=10 * STONES)},
    reset=[pour],
    step=SOLID.step,
)

if __name__ == "__main__":
    sim = wl.Simulation("Quarry-v0", num_worlds=1, seed=0)
    for _ in range(300):
        sim.step()
    speed = np.linalg.norm(sim[Stone].velocity.numpy()[0, 1:], axis=1).mean()
    print(f"{STONES} stones, {sim[SOLID.Contact].counts.numpy()[0]} contacts, mean speed {1000.0 * speed:.1f} mm/s")
