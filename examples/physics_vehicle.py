"""A vehicle: four wheels on hinges with motors, driven by an action."""

import worldloom as wl
from worldloom import physics

CAR, GROUND = 2, 1  # collision groups: parts of the car do not collide with each other


class Part(physics.Body):
    pass


class Driver(wl.Entity):
    chassis: wl.Ref(Part)
    drive: wl.Action(wl.Box(-1.0, 1.0, (2,)))  # of the wheels on the left, on the right
    place: wl.Observation(3)
    reward: wl.Reward


class Road(physics.World):
    top_speed: wl.Config = 15.0  # rad/s, of a wheel


SOLID = physics.systems(Road, Part)


@wl.system
def build(world: Road):
    world.spawn(Part, shape=physics.PLANE, motion=physics.STATIC, collision_group=GROUND)
    chassis = world.spawn(
        Part,
        size=wl.vec3(0.5, 0.4, 0.1),
        position=wl.vec3(0.0, 0.0, 0.4),
        mass=80.0,
        collision_group=CAR,
        collision_mask=GROUND,
    )
    for i in range(4):
        corner = wl.vec3(0.35 if i < 2 else -0.35, 0.7 if i % 2 == 0 else -0.7, -0.1)
        wheel = world.spawn(
            Part,
            shape=physics.SPHERE,
            size=wl.vec3(0.3, 0.0, 0.0),
            position=wl.vec3(0.0, 0.0, 0.4) + corner,
            mass=8.0,
            friction=1.0,
            collision_group=CAR,
            collision_mask=GROUND,
        )
        world.spawn(
            SOLID.Joint,
            kind=physics.HINGE,
            a=chassis,
            b=wheel,
            anchor_a=corner,
            axis=wl.vec3(0.0, 1.0, 0.0),
            motor_force=60.0,
        )


@wl.system
def take_seat(driver: Driver, world: Road):
    driver.chassis = world.at(Part, 1).ref


@wl.system
def steer(world: Road):
    for driver in world.all(Driver):
        for joint in world.all(SOLID.Joint):
            joint.motor_speed = wl.clamp(driver.drive[joint.id % 2], -1.0, 1.0) * world.top_speed


@wl.system
def look(driver: Driver):
    driver.place = driver.chassis.get().position


@wl.system
def pay(driver: Driver, world: Road):
    driver.reward = driver.chassis.get().velocity.x * world.dt


wl.register(
    "Vehicle-v0",
    world=Road,
    entities={Part: wl.UpTo(6), Driver: 1, **SOLID.entities(pairs=15, contacts=8, joints=4)},
    reset=[build, take_seat],
    step=[steer, *SOLID.step, pay],
    observe=[look],
    max_steps=300,
)

if __name__ == "__main__":
    env = wl.make("Vehicle-v0", num_envs=2, seed=0)
    env.reset()
    for _ in range(90):
        places, *_ = env.step([[1.0, 1.0], [0.5, 1.0]])
    print("straight on: {:.1f} m forward, {:.1f} m aside".format(*places[0]))
    print("more to the right wheels: {:.1f} m forward, {:.1f} m aside".format(*places[1]))
