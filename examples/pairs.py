"""Pair systems: a rule for two entities, run once for every pair of one kind, or of two kinds."""

import numpy as np

import worldloom as wl


class Ball(wl.Entity):
    position: wl.vec2
    velocity: wl.vec2
    force: wl.vec2


class Gnat(wl.Entity):
    position: wl.vec2


class Table(wl.World):
    reach: wl.Config = 0.2  # range of the repulsion between balls
    touches: int


@wl.system
def scatter(ball: Ball, world: Table):
    ball.position = wl.vec2(world.random(), world.random())


@wl.system
def hatch(world: Table):
    for _ in range(20):
        world.spawn(Gnat, position=wl.vec2(world.random(), world.random()))


@wl.system
def push(a: Ball, b: Ball, world: Table):  # every pair of balls once, in no order
    apart = b.position - a.position
    distance = max(wl.length(apart), 1.0e-3)
    if distance < world.reach:
        a.force -= apart / distance  # a ball is in several pairs, which accumulate
        b.force += apart / distance
        world.touches += 1


@wl.system
def roll(ball: Ball):
    ball.velocity = 0.9 * (ball.velocity + 0.01 * ball.force)
    ball.position += ball.velocity
    ball.force = wl.vec2(0.0, 0.0)


@wl.system
def squash(ball: Ball, gnat: Gnat):  # every ball with every existing gnat
    if wl.length(ball.position - gnat.position) < 0.05:
        gnat.despawn()


wl.register(
    "Pairs-v0", world=Table, entities={Ball: 12, Gnat: wl.UpTo(20)}, reset=[scatter, hatch], step=[push, roll, squash]
)

if __name__ == "__main__":
    sim = wl.Simulation("Pairs-v0", num_worlds=50, seed=0)
    touches = []
    for _ in range(60):
        before = sim.world.touches.numpy().copy()
        sim.step()
        touches.append(int((sim.world.touches.numpy() - before).sum()))
    print("pairs of balls that touch: at first", touches[0], "and at last", touches[-1])
    momentum = np.abs(sim[Ball].velocity.numpy().sum(axis=1)).max()
    print("what one of a pair gets the other gives:", bool(momentum < 1e-5))
    print(f"gnats left: {int(sim[Gnat].counts.numpy().sum())} of 1000")
