"""Pendulum: swing a rod up with a weak motor and keep it upright."""

from math import pi

import numpy as np

import worldloom as wl
from worldloom import clamp, cos, floor, sin
from worldloom.core.model.canvas import Canvas, Image, rotated

MAX_SPIN = 8.0  # rad/s
MAX_TORQUE = 2.0  # N m
TAU = 0.05  # s, between two steps


class Rod(wl.Entity):
    angle: wl.Finite(float)  # rad, 0 is upright, -pi to pi
    spin: float  # rad/s, counter-clockwise
    torque: wl.Action(wl.Box(-MAX_TORQUE, MAX_TORQUE, (1,)))  # N m, counter-clockwise
    sight: wl.Observation(3, low=(-1.0, -1.0, -MAX_SPIN), high=(1.0, 1.0, MAX_SPIN))
    reward: wl.Reward


class Pendulum(wl.World):
    g: wl.Config = 10.0  # m/s^2
    x_init: wl.Config = pi  # rad, bound of the initial angle
    y_init: wl.Config = 1.0  # rad/s, bound of the initial spin


@wl.function
def wrapped(angle: float) -> float:
    """The angle wrapped to -pi to pi, which keeps single precision accurate over many turns."""
    return angle - 2.0 * pi * floor((angle + pi) / (2.0 * pi))


@wl.system
def swing(rod: Rod, world: Pendulum):
    torque = clamp(rod.torque[0], -MAX_TORQUE, MAX_TORQUE)
    rod.reward = -(rod.angle**2 + 0.1 * rod.spin**2 + 0.001 * torque**2)
    turn = 1.5 * world.g * sin(rod.angle) + 3.0 * torque
    rod.spin = clamp(rod.spin + turn * TAU, -MAX_SPIN, MAX_SPIN)
    rod.angle = wrapped(rod.angle + rod.spin * TAU)


@wl.system
def place(rod: Rod, world: Pendulum):
    rod.angle = wrapped(world.random(-world.x_init, world.x_init))
    rod.spin = world.random(-world.y_init, world.y_init)


@wl.system
def look(rod: Rod):
    rod.sight = wl.vec3(cos(rod.angle), sin(rod.angle), rod.spin)


def draw(sim: wl.Simulation, world: int) -> Image:
    rod = sim["Rod"]
    angle, torque = float(rod.angle.numpy()[world, 0]), float(rod.torque.numpy()[world, 0, 0])
    middle, length, half_width = 250.0, 500.0 / 4.4, 50.0 / 4.4
    canvas = Canvas(500, 500)
    sides = [(-half_width, 0.0), (half_width, 0.0), (half_width, -length), (-half_width, -length)]
    canvas.polygon(rotated(sides, -angle, middle, middle), (204, 77, 77))
    ((tip_x, tip_y),) = rotated([(0.0, -length)], -angle, middle, middle)
    canvas.circle(middle, middle, half_width, (204, 77, 77))
    canvas.circle(tip_x, tip_y, half_width, (204, 77, 77))
    if sim.world.step.numpy()[world] > 0:
        _draw_torque(canvas, middle, float(np.clip(torque, -MAX_TORQUE, MAX_TORQUE)), length)
    canvas.circle(middle, middle, 0.05 * length, (0, 0, 0))
    return canvas.image()


def _draw_torque(canvas: Canvas, middle: float, torque: float, length: float) -> None:
    """A curved arrow around the axle, scaled with the torque."""
    radius, way = 0.25 * length * abs(torque), -1.0 if torque > 0.0 else 1.0
    if radius < 2.0:
        return
    turns = np.linspace(-0.75 * pi, 0.75 * pi, 40) * way
    arc = [(middle + radius * float(np.sin(t)), middle - radius * float(np.cos(t))) for t in turns]
    canvas.line(arc, (0, 0, 0), 2.0)
    head = [(-7.0, -5.0), (7.0, 0.0), (-7.0, 5.0)]
    canvas.polygon(rotated(head, float(turns[-1]) + (0.0 if way > 0.0 else pi), *arc[-1]), (0, 0, 0))


PENDULUM = wl.register(
    "Pendulum-v1",
    world=Pendulum,
    entities={Rod: 1},
    reset=[place],
    step=[swing],
    observe=[look],
    max_steps=200,
    render=draw,
)
