"""A hinge with limits and a motor: a ball pushes a gate open, and a weak motor closes it again."""

import worldloom as wl
from worldloom import physics


class Part(physics.Body):
    pass


class Yard(physics.World):
    pass


SOLID = physics.systems(Yard, Part)


@wl.system
def build(world: Yard):
    world.spawn(Part, shape=physics.PLANE, motion=physics.STATIC)
    post = world.spawn(Part, size=wl.vec3(0.1, 0.1, 1.0), position=wl.vec3(0.0, -0.7, 1.0), motion=physics.STATIC)
    gate = world.spawn(Part, size=wl.vec3(0.05, 0.5, 0.4), position=wl.vec3(0.0, 0.0, 0.6), mass=30.0)
    world.spawn(
        Part,
        shape=physics.SPHERE,
        size=wl.vec3(0.2, 0.0, 0.0),
        position=wl.vec3(-1.0, 0.3, 0.5),
        velocity=wl.vec3(world.random(3.0, 5.0), 0.0, 1.0),
        mass=20.0,
    )
    world.spawn(
        SOLID.Joint,
        kind=physics.HINGE,
        a=post,
        b=gate,
        anchor_a=wl.vec3(0.0, 0.15, -0.4),
        anchor_b=wl.vec3(0.0, -0.55, 0.0),
        axis=wl.vec3(0.0, 0.0, 1.0),
        lower=-2.0,
        upper=0.0,  # the gate opens to one side
        motor_speed=0.5,
        motor_force=15.0,
    )


KINDS = {Part: wl.UpTo(4), **SOLID.entities(pairs=6, contacts=6, joints=1)}
wl.register("Gate-v0", world=Yard, entities=KINDS, reset=[build], step=SOLID.step)

if __name__ == "__main__":
    sim = wl.Simulation("Gate-v0", num_worlds=8, seed=0)
    widest = 0.0
    for _ in range(240):
        sim.step()
        widest = min(widest, float(sim[SOLID.Joint].coordinate.numpy().min()))
    closed = sim[SOLID.Joint].coordinate.numpy()[:, 0]
    print(f"opened by up to {-widest:.2f} rad, {(abs(closed) < 0.01).sum()} of 8 gates are closed after 8 s")
