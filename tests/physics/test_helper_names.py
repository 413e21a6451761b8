"""Helpers of a user may have the names of those of physics."""

import worldloom as wl
from worldloom import physics


class Ball(physics.Body):
    pass


class Hall(physics.World):
    pass


SOLID = physics.systems(Hall, Ball, shapes=(physics.PLANE, physics.SPHERE))


@wl.function
def tangent(speed: float) -> float:
    """Physics has a helper of this name, which takes a vector."""
    return speed + 1.0


@wl.system
def build(world: Hall):
    world.spawn(Ball, shape=physics.SPHERE, size=wl.vec3(0.5, 0.0, 0.0), position=wl.vec3(0.0, 0.0, tangent(1.0)))


def test_a_helper_with_the_name_of_one_of_physics():
    definition = wl.register(
        "PhysicsHall-v0",
        world=Hall,
        entities={Ball: wl.UpTo(2), **SOLID.entities(pairs=2, contacts=2)},
        reset=[build],
        step=SOLID.step,
    )
    for device in ("python", "cpu"):
        with wl.Simulation(definition, 1, device, seed=0) as sim:
            assert sim[Ball].position.numpy()[0, 0, 2] == 2.0
            sim.step()
            assert sim[Ball].position.numpy()[0, 0, 2] < 2.0
