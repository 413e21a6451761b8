"""Boids: a flock in which each boid reads only its neighbours, found with world.near."""

import numpy as np

import worldloom as wl
from worldloom.core.tools.compare import compare


class Boid(wl.Entity):
    position: wl.vec2
    velocity: wl.vec2
    turn: wl.vec2
    neighbours: int


class Sky(wl.World):
    size: wl.Config = 10.0
    sight: wl.Config = 0.5
    align: wl.Config = 0.3
    gather: wl.Config = 0.01
    avoid: wl.Config = 0.01


@wl.system
def scatter(boid: Boid, world: Sky):
    boid.position = wl.vec2(world.random(0.0, world.size), world.random(0.0, world.size))
    boid.velocity = wl.normalize(wl.vec2(world.normal(), world.normal()))


@wl.system
def flock(boid: Boid, world: Sky):
    heading = wl.vec2(0.0, 0.0)
    centre = wl.vec2(0.0, 0.0)
    away = wl.vec2(0.0, 0.0)
    seen = 0
    for other in world.near(Boid, boid.position, world.sight):  # row by row of cells, the same order on every device
        if other.id == boid.id:  # the query also yields the boid itself
            continue
        apart = other.position - boid.position
        heading += other.velocity
        centre += apart
        away -= apart / (wl.length_sq(apart) + 0.001)
        seen += 1
    boid.neighbours = seen
    boid.turn = wl.vec2(0.0, 0.0)
    if seen > 0:
        boid.turn = (
            world.align * (heading / float(seen) - boid.velocity)
            + world.gather * (centre / float(seen))
            + world.avoid * away
        )


@wl.system
def fly(boid: Boid, world: Sky):  # a second system, because the first reads the positions of others
    velocity = boid.velocity + boid.turn
    ahead = boid.position + 0.05 * velocity
    if ahead.x < 0.0 or ahead.x > world.size:
        velocity.x = -velocity.x
    if ahead.y < 0.0 or ahead.y > world.size:
        velocity.y = -velocity.y
    boid.velocity = wl.normalize(velocity)
    boid.position += 0.05 * boid.velocity


BOIDS = wl.register("Boids-v0", world=Sky, entities={Boid: 1000}, reset=[scatter], step=[flock, fly], max_steps=1000)


def order(velocities: np.ndarray) -> float:
    """1 where all boids of a world have the same heading, near 0 for random headings; the mean over the worlds."""
    return float(np.linalg.norm(velocities.mean(axis=1), axis=-1).mean())


if __name__ == "__main__":
    few = BOIDS.with_counts({Boid: 200})
    sim = wl.Simulation(few, 16, seed=0, config={"size": 4.5})
    before = order(sim[Boid].velocity.numpy())
    for _ in range(100):
        sim.step()
    print(f"neighbours: {sim[Boid].neighbours.numpy().mean():.1f} of {sim[Boid].rows_per_world - 1}")
    print(f"order: {before:.2f} at first, {order(sim[Boid].velocity.numpy()):.2f} after 100 steps")
    print("python and cpu agree bit for bit:", compare(few, num_worlds=1, steps=2) is None)
