"""Wolves and sheep: a whole world of two kinds of entities, from the rules to the first episodes."""

import worldloom as wl


class Animal(wl.Components):
    position: wl.vec2  # in the unit square
    speed: float  # per step
    steer: wl.Action(wl.Box(-1.0, 1.0, shape=(2,)))
    sight: wl.Observation(4)  # own position, and the way to the nearest of the others
    reward: wl.Reward


class Wolf(wl.Entity, Animal):
    speed: float = 0.03


class Sheep(wl.Entity, Animal):
    speed: float = 0.02


class Meadow(wl.World):
    reach: wl.Config = 0.05  # distance at which a wolf catches a sheep


@wl.function
def nearer(one: wl.vec2, two: wl.vec2):
    return one if wl.length(one) < wl.length(two) else two


@wl.system
def scatter(animal: wl.Has(Animal), world: Meadow):
    animal.position = wl.vec2(world.random(), world.random())


@wl.system
def walk(animal: wl.Has(Animal)):
    there = animal.position + animal.steer * (animal.speed / max(wl.length(animal.steer), 1.0))
    animal.position = wl.vec2(wl.clamp(there.x, 0.0, 1.0), wl.clamp(there.y, 0.0, 1.0))


@wl.system
def catch(sheep: Sheep, world: Meadow):
    if not sheep.active:
        return
    for wolf in world.all(Wolf):
        if wl.length(wolf.position - sheep.position) < world.reach:
            wolf.reward += 1.0
            sheep.reward = -1.0
            sheep.terminate()
            break


@wl.system
def watch_sheep(wolf: Wolf, world: Meadow):
    way = wl.vec2(2.0, 2.0)
    for sheep in world.all(Sheep):
        if sheep.active:
            way = nearer(sheep.position - wolf.position, way)
    wolf.sight = wl.vec4(wolf.position.x, wolf.position.y, way.x, way.y)


@wl.system
def watch_wolves(sheep: Sheep, world: Meadow):
    way = wl.vec2(2.0, 2.0)
    for wolf in world.all(Wolf):
        way = nearer(wolf.position - sheep.position, way)
    sheep.sight = wl.vec4(sheep.position.x, sheep.position.y, way.x, way.y)


wl.register(
    "Meadow-v0",
    world=Meadow,
    entities={Wolf: 2, Sheep: 6},
    reset=[scatter],
    step=[walk, catch],
    observe=[watch_sheep, watch_wolves],
    max_steps=200,
)

if __name__ == "__main__":
    sim, flocks = wl.Simulation("Meadow-v0", num_worlds=100, seed=0), 0
    for _ in range(300):
        sim[Wolf].steer.numpy()[:] = 100.0 * sim[Wolf].sight.numpy()[..., 2:]  # straight at the nearest sheep
        sim.step()
        flocks += int(sim.terminated.numpy().sum())
    print(f"{flocks} flocks caught, {len(sim.errors())} faults")
