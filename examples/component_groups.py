"""Groups of components: entities share them by inheritance, and wl.Has finds every kind that has them."""

import worldloom as wl


class Moving(wl.Components):
    position: wl.vec2
    velocity: wl.vec2


class Burning(wl.Components):
    fuel: float = 1.0


class Boat(wl.Entity, Moving):
    pass


class Rocket(wl.Entity, Moving, Burning):
    velocity: wl.vec2 = (0.0, 5.0)  # a default of its own


class Lamp(wl.Entity, Burning):
    fuel: float = 0.25


class Harbour(wl.World):
    dt: wl.Config = 0.1  # s


@wl.system
def drift(body: wl.Has(Moving), world: Harbour):  # boats and rockets
    body.position += body.velocity * world.dt


@wl.system
def burn(fire: wl.Has(Burning), world: Harbour):  # rockets and lamps
    fire.fuel = max(fire.fuel - world.dt, 0.0)


@wl.system
def thrust(rocket: wl.Has(Moving, Burning), world: Harbour):  # rockets alone
    if rocket.fuel > 0.0:
        rocket.velocity += wl.vec2(0.0, 10.0) * world.dt


wl.register("Harbour-v0", world=Harbour, entities={Boat: 2, Rocket: 1, Lamp: 3}, step=[drift, burn, thrust])

sim = wl.Simulation("Harbour-v0", num_worlds=4)
sim[Boat].velocity.numpy()[:] = (1.0, 0.0)
for _ in range(5):
    sim.step()
print("boat:", sim[Boat].position.numpy()[0, 0].round(2).tolist())
print(
    "rocket:",
    sim[Rocket].position.numpy()[0, 0].round(2).tolist(),
    "fuel",
    round(float(sim[Rocket].fuel.numpy()[0, 0]), 2),
)
print("lamp: fuel", float(sim[Lamp].fuel.numpy()[0, 0]))
