"""Rabbits and foxes: animals that are born, eat and die, so their numbers vary."""

import worldloom as wl

SIZE = 16  # cells along each side of the field, which wraps at its edges


class Animal(wl.Components):
    cell: wl.vec2i
    energy: int  # falls by one in every step


class Rabbit(wl.Entity, Animal):
    energy: int = 6


class Fox(wl.Entity, Animal):
    energy: int = 20


class Field(wl.World):
    ripe: wl.Array(int, SIZE, SIZE)  # the step from which there is grass in a cell
    meal: wl.Config = 8  # energy that a fox gains from a rabbit


@wl.system
def populate(world: Field):
    for _ in range(60):
        world.spawn(Rabbit, cell=wl.vec2i(world.integer(SIZE), world.integer(SIZE)))
    for _ in range(10):
        world.spawn(Fox, cell=wl.vec2i(world.integer(SIZE), world.integer(SIZE)))


@wl.system
def wander(animal: wl.Has(Animal), world: Field):
    animal.cell.x = (animal.cell.x + world.integer(-1, 2)) % SIZE
    animal.cell.y = (animal.cell.y + world.integer(-1, 2)) % SIZE
    animal.energy -= 1
    if animal.energy <= 0:
        animal.despawn()


@wl.system
def graze(world: Field):  # over the world, one rabbit after the other: two in one cell share what grows there
    for rabbit in world.all(Rabbit):
        if world.step >= world.ripe[rabbit.cell.x, rabbit.cell.y]:
            world.ripe[rabbit.cell.x, rabbit.cell.y] = world.step + 6
            rabbit.energy += 5


@wl.system
def fall_prey(rabbit: Rabbit, world: Field):
    for fox in world.all(Fox):
        if fox.cell.x == rabbit.cell.x and fox.cell.y == rabbit.cell.y:
            fox.energy += world.meal
            rabbit.despawn()
            break


@wl.system
def breed_rabbits(rabbit: Rabbit, world: Field):
    if rabbit.energy >= 12:
        rabbit.energy //= 2
        world.spawn(Rabbit, cell=rabbit.cell, energy=rabbit.energy)


@wl.system
def breed_foxes(fox: Fox, world: Field):
    if fox.energy >= 40:
        fox.energy //= 2
        world.spawn(Fox, cell=fox.cell, energy=fox.energy)


@wl.system
def die_out(world: Field):
    if world.count(Rabbit) == 0 or world.count(Fox) == 0:
        world.terminate()


STEP = [wander, graze, fall_prey, breed_rabbits, breed_foxes, die_out]
WORLD = wl.register(
    "PredatorPrey-v0",
    world=Field,
    entities={Rabbit: wl.UpTo(256), Fox: wl.UpTo(128)},
    reset=[populate],
    step=STEP,
    max_steps=1000,
)

if __name__ == "__main__":
    sim = wl.Simulation(WORLD, num_worlds=64, seed=0)
    for step in range(400):
        sim.step()
        if step % 50 == 49:
            rabbits, foxes = sim[Rabbit].counts.numpy(), sim[Fox].counts.numpy()
            first = f"{rabbits[0]} rabbits and {foxes[0]} foxes in the first field"
            print(f"step {step + 1}: {first}, {rabbits.sum() + foxes.sum():,} animals in all")
