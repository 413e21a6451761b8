"""MountainCar: rock a weak car back and forth until it climbs out of the valley."""

import functools

import numpy as np

import worldloom as wl
from worldloom import clamp, cos
from worldloom.core.model.canvas import Canvas, Image, rotated

LEFT, RIGHT = -1.2, 0.6  # the ends of the road
MAX_SPEED = 0.07  # per step


class Car(wl.Entity):
    x: wl.Finite(float)
    velocity: float  # per step
    sight: wl.Observation(2, low=(LEFT, -MAX_SPEED), high=(RIGHT, MAX_SPEED))
    reward: wl.Reward


class GearCar(Car):
    push: wl.Action(wl.Discrete(3))  # 0 left, 1 none, 2 right


class ThrottleCar(Car):
    push: wl.Action(wl.Box(-1.0, 1.0, (1,)))


class Valley(wl.World):
    goal: wl.Config = 0.5  # position of the flag
    goal_velocity: wl.Config = 0.0  # least velocity at the flag
    force: wl.Config = 0.001  # per step^2, of a push
    gravity: wl.Config = 0.0025
    low: wl.Config = -0.6  # bounds of the initial position
    high: wl.Config = -0.4


class ThrottleValley(Valley):
    goal: wl.Config = 0.45
    force: wl.Config = 0.0015


@wl.function
def rolled(x: float, velocity: float, pull: float):
    """Position and velocity after one step with the acceleration ``pull``; the left end of the road stops the car."""
    velocity = clamp(velocity + pull, -MAX_SPEED, MAX_SPEED)
    x = clamp(x + velocity, LEFT, RIGHT)
    if x <= LEFT:
        velocity = max(velocity, 0.0)
    return x, velocity


@wl.system
def shift(car: GearCar, world: Valley):
    pull = float(car.push - 1) * world.force - world.gravity * cos(3.0 * car.x)
    car.x, car.velocity = rolled(car.x, car.velocity, pull)
    car.reward = -1.0


@wl.system
def throttle(car: ThrottleCar, world: Valley):
    pull = clamp(car.push[0], -1.0, 1.0) * world.force - world.gravity * cos(3.0 * car.x)
    car.x, car.velocity = rolled(car.x, car.velocity, pull)
    car.reward = -0.1 * car.push[0] ** 2
    if car.x >= world.goal and car.velocity >= world.goal_velocity:
        car.reward += 100.0


@wl.system
def judge(car: Car, world: Valley):
    if car.x >= world.goal and car.velocity >= world.goal_velocity:
        world.terminate()


@wl.system
def place(car: Car, world: Valley):
    car.x = world.random(world.low, world.high)


@wl.system
def look(car: Car):
    car.sight = wl.vec2(car.x, car.velocity)


def draw(sim: wl.Simulation, world: int) -> Image:
    (kind,) = sim.definition.entities
    x = float(sim[kind].x.numpy()[world, 0])
    goals = sim.world.goal.numpy()
    scale = 600.0 / (RIGHT - LEFT)

    def road(place: float) -> tuple[float, float]:
        return (place - LEFT) * scale, 400.0 - (0.45 * float(np.sin(3.0 * place)) + 0.55) * scale

    canvas = Canvas(600, 400)
    canvas.line([road(float(place)) for place in np.linspace(LEFT, RIGHT, 100)], (0, 0, 0), 1.5)
    flag_x, flag_y = road(float(goals[world % len(goals)]))
    canvas.line([(flag_x, flag_y), (flag_x, flag_y - 50.0)], (0, 0, 0), 1.5)
    canvas.polygon([(flag_x, flag_y - 50.0), (flag_x, flag_y - 40.0), (flag_x + 25.0, flag_y - 45.0)], (204, 204, 0))
    slope = -float(np.cos(3.0 * x))
    middle, ground = road(x)
    canvas.polygon(
        rotated([(-20.0, 0.0), (-20.0, -20.0), (20.0, -20.0), (20.0, 0.0)], slope, middle, ground - 10.0), (0, 0, 0)
    )
    for wheel_x, wheel_y in rotated([(-10.0, 0.0), (10.0, 0.0)], slope, middle, ground - 10.0):
        canvas.circle(wheel_x, wheel_y, 8.0, (128, 128, 128))
    return canvas.image()


register_version = functools.partial(wl.register, reset=[place], observe=[look], render=draw)
MOUNTAIN_CAR = register_version(
    "MountainCar-v0", world=Valley, entities={GearCar: 1}, step=[shift, judge], max_steps=200
)
MOUNTAIN_CAR_CONTINUOUS = register_version(
    "MountainCarContinuous-v0",
    world=ThrottleValley,
    entities={ThrottleCar: 1},
    step=[throttle, judge],
    max_steps=999,
    doc="MountainCarContinuous: climb out of the valley with a throttle, and spare the engine.",
)
