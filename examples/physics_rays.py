"""Rays against rigid bodies: a fan of them from a rolling ball, and whether the ball sees another one."""

import math

import worldloom as wl
from worldloom import physics

RAYS = 16


class Thing(physics.Body):
    pass


class Scout(wl.Entity):
    body: wl.Ref(Thing)
    target: wl.Ref(Thing)
    sight: wl.Observation(RAYS, low=0.0, high=20.0)  # m, counter-clockwise; 20 where nothing is hit
    sees_target: bool


class Hall(physics.World):
    pass


SOLID = physics.systems(Hall, Thing)


@wl.system
def build(world: Hall):
    world.spawn(Thing, shape=physics.PLANE, motion=physics.STATIC)
    world.spawn(Thing, size=wl.vec3(0.1, 2.0, 1.0), position=wl.vec3(3.0, 0.0, 1.0), motion=physics.STATIC)
    ball = wl.vec3(0.5, 0.0, 0.0)
    world.spawn(
        Thing, shape=physics.SPHERE, size=ball, position=wl.vec3(0.0, -6.0, 0.5), velocity=wl.vec3(0.0, 4.2, 0.0)
    )
    world.spawn(Thing, shape=physics.SPHERE, size=ball, position=wl.vec3(6.0, 0.0, 0.5))


@wl.system
def appoint(scout: Scout, world: Hall):
    scout.body = world.at(Thing, 2).ref
    scout.target = world.at(Thing, 3).ref


@wl.system(threads="auto")
def look(scout: Scout, world: Hall):
    origin = scout.body.get().position
    own = scout.body.get().id
    for i in wl.share(RAYS):
        way = physics.fan_direction(wl.vec3(1.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 1.0), i, RAYS, 2.0 * math.pi)
        _row, distance, _normal = SOLID.ray(world, origin, way, 20.0, own, -1)
        scout.sight[i] = distance
    across = scout.target.get().position - origin
    length = wl.length(across)
    scout.sees_target = SOLID.sees(world, origin, across / length, length, scout.target.get().id, own, -1)


wl.register(
    "Hall-v0",
    world=Hall,
    entities={Thing: wl.UpTo(4), Scout: 1, **SOLID.entities(pairs=6, contacts=6)},
    reset=[build, appoint],
    step=SOLID.step,
    observe=[look],
)

if __name__ == "__main__":
    sim = wl.Simulation("Hall-v0", num_worlds=4, seed=0)
    for step in range(121):
        if step % 30 == 0:
            ahead, seen = sim[Scout].sight.numpy()[0, 0, 0], bool(sim[Scout].sees_target.numpy()[0, 0])
            print(f"after {step / 30:.0f} s: {ahead:.1f} m free ahead, target in sight: {seen}")
        sim.step()
