"""Two small worlds for tests of the interfaces: one with all kinds of components, one with a single number."""

import numpy as np

import worldloom as wl


class Bee(wl.Entity):
    place: wl.vec2
    load: int
    turn: wl.Action(wl.Discrete(3))
    thrust: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    sight: wl.Observation(3, low=-100.0, high=100.0)
    mood: wl.Observation(wl.Discrete(4))
    nectar: wl.Info(int)
    reward: wl.Reward


class Meadow(wl.World):
    wind: wl.Config = 0.1
    rain: wl.Observation(wl.MultiDiscrete(3, 2))
    light: wl.Observation(2, dtype=wl.uint8)
    signals: wl.Observation(3, dtype=bool)
    day: wl.Info(float)


@wl.system
def fly(bee: Bee, world: Meadow):
    bee.place += bee.thrust + wl.vec2(world.random(-1.0, 1.0), world.normal()) * world.wind
    if bee.turn == 2:
        bee.load += 1
        bee.reward = 1.5
    bee.nectar = bee.load


@wl.system
def age(world: Meadow):
    world.day += 0.25
    if world.random() < 0.2:
        world.terminate()


@wl.system
def leave_hive(bee: Bee, world: Meadow):
    bee.place = wl.vec2(world.random(), world.random())


@wl.system
def look(bee: Bee):
    bee.sight = wl.vec3(bee.place.x, bee.place.y, float(bee.load))
    bee.mood = bee.load % 4


@wl.system
def weather(world: Meadow):
    world.rain = wl.vec2i(world.step % 3, world.episode % 2)
    world.light[0] = wl.uint8(world.step)
    world.light[1] = wl.uint8(255)
    world.signals[0] = world.step > 1


def paint(simulation, world):
    """A uniform grey that is brighter in later steps."""
    return np.full((4, 6, 3), 10 * int(simulation.world.step.numpy()[world]), np.uint8)


MEADOW = wl.Definition(
    "Meadow-test",
    Meadow,
    {Bee: 2},
    reset=(leave_hive,),
    step=(fly, age),
    observe=(look, weather),
    max_steps=6,
    render=paint,
    frames_per_second=5,
)


class Glider(wl.Entity):
    height: float
    lift: wl.Action(wl.Box(-2.0, 2.0, (1,)))
    sight: wl.Observation(1)
    reward: wl.Reward


class Sky(wl.World):
    pull: wl.Config = 0.5


@wl.system
def glide(glider: Glider, world: Sky):
    glider.height += glider.lift[0] - world.pull
    glider.reward = glider.height
    if glider.height < 0.0:
        world.terminate()


@wl.system
def launch(glider: Glider, world: Sky):
    glider.height = world.random(1.0, 2.0)


@wl.system
def feel(glider: Glider):
    glider.sight[0] = glider.height


SKY = wl.Definition("Sky-test", Sky, {Glider: 1}, reset=(launch,), step=(glide,), observe=(feel,), max_steps=8)
