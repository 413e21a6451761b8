"""A world that fails in the third step of every episode, and drops what it spawns beyond one spark."""

import worldloom as wl


class Lamp(wl.Entity):
    press: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1)
    reward: wl.Reward


class Spark(wl.Entity):
    heat: float


class Shed(wl.World):
    pass


@wl.system
def burn(world: Shed):
    world.spawn(Spark, heat=1.0)
    if world.step == 2:
        world.fail("the lamp went out")


@wl.system
def look(lamp: Lamp):
    lamp.sight[0] = 0.5


wl.register(
    "Faulty-v0",
    world=Shed,
    entities={Lamp: 1, Spark: wl.UpTo(1, overflow="drop")},
    step=[burn],
    observe=[look],
    max_steps=5,
)
