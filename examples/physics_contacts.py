"""Contact events: a ball falls through pins, and a system reads which pin it hits, where and how hard."""

import worldloom as wl
from worldloom import physics


class Piece(physics.Body):
    is_pin: bool
    score: int


class Hit(wl.Event):
    pin: int
    place: wl.vec3
    impulse: float  # N s


class Board(physics.World):
    hits: int


SOLID = physics.systems(Board, Piece)


@wl.system
def build(world: Board):
    for i in range(5):
        x, z = 0.4 * float(i) - 0.8, 1.0 if i % 2 == 0 else 0.6
        world.spawn(
            Piece,
            shape=physics.CAPSULE,
            size=wl.vec3(0.1, 0.5, 0.0),
            position=wl.vec3(x, 0.0, z),
            rotation=wl.quat_from_axis_angle(wl.vec3(1.0, 0.0, 0.0), 1.5707963),
            motion=physics.STATIC,
            restitution=0.6,
            is_pin=True,
        )
    start = wl.vec3(world.random(-0.5, 0.5), 0.0, 2.0)
    world.spawn(Piece, shape=physics.SPHERE, size=wl.vec3(0.12, 0.0, 0.0), position=start, mass=0.5)


@wl.system
def score(world: Board):
    for contact in world.all(SOLID.Contact):
        a, b = contact.a.get(), contact.b.get()
        if contact.impulse > 0.1 and contact.last_impulse == 0.0 and a.is_pin != b.is_pin:  # a new, hard touch
            pin = a if a.is_pin else b
            pin.score += 1
            world.hits += 1
            point = SOLID.contact_point(world, contact)
            world.spawn(Hit, pin=pin.id, place=point, impulse=contact.impulse)


KINDS = {Piece: wl.UpTo(6), Hit: wl.UpTo(5), **SOLID.entities(pairs=5, contacts=5)}
wl.register("Pins-v0", world=Board, entities=KINDS, reset=[build], step=[*SOLID.step, score])

if __name__ == "__main__":
    sim = wl.Simulation("Pins-v0", num_worlds=8, seed=0)
    for step in range(45):
        sim.step()
        if sim[Hit].counts.numpy()[0]:
            hit = sim[Hit]
            x, _, z = hit.place.numpy()[0, 0]
            print(
                f"step {step}: pin {hit.pin.numpy()[0, 0]} at ({x:.2f}, {z:.2f}) m, {hit.impulse.numpy()[0, 0]:.1f} N s"
            )
    print("hits in each world:", sim.world.hits.numpy().tolist())
