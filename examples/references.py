"""References: an entity stores a reference to another one of its world, and follows it later."""

import worldloom as wl


class Duck(wl.Entity):
    place: float
    leader: wl.Ref("Duck")  # a class, or its name if the class is not defined yet
    next_place: float


class Pond(wl.World):
    pass


@wl.system
def line_up(duck: Duck, world: Pond):
    duck.place = float(duck.id)
    for other in world.all(Duck):
        if other.id == duck.id - 1:
            duck.leader = other.ref  # the first duck's stays None


@wl.system
def plan_move(duck: Duck, world: Pond):
    if duck.leader is None:
        duck.next_place = duck.place - 1.0
    else:
        duck.next_place = 0.5 * (duck.place + duck.leader.get().place)


@wl.system
def move(duck: Duck):  # a second system, so that no duck sees a neighbour that has moved already
    duck.place = duck.next_place


wl.register("Pond-v0", world=Pond, entities={Duck: 4}, reset=[line_up], step=[plan_move, move])

sim = wl.Simulation("Pond-v0", num_worlds=2)
print("leaders:", sim[Duck].leader.numpy()[0].tolist())
for _ in range(3):
    sim.step()
print("places:", sim[Duck].place.numpy()[0].tolist())
