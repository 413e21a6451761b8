"""Acrobot: swing two links up over a line by turning the joint between them."""

from math import pi

import worldloom as wl
from worldloom import clamp, cos, floor, sin
from worldloom.core.model.canvas import Canvas, Image, rotated

GRAVITY = 9.8  # m/s^2
MAX_SPINS = wl.vec2(4.0 * pi, 9.0 * pi)  # rad/s, of the first and of the second link
Sight = wl.vec(6)


class Links(wl.Entity):
    angles: wl.Finite(wl.vec2)  # rad: of the first link, 0 hanging down, and of the second relative to the first
    spins: wl.vec2  # rad/s
    turn: wl.Action(wl.Discrete(3))  # index of the torque on the joint
    sight: wl.Observation(
        6, low=(-1.0, -1.0, -1.0, -1.0, -4.0 * pi, -9.0 * pi), high=(1.0, 1.0, 1.0, 1.0, 4.0 * pi, 9.0 * pi)
    )
    reward: wl.Reward


class Acrobot(wl.World):
    torques: wl.Config = wl.vec3(-1.0, 0.0, 1.0)  # N m
    torque_noise_max: wl.Config = 0.0  # N m, bound of uniform noise on the torque
    dt: wl.Config = 0.2  # s, between two steps
    length: wl.Config = 1.0  # m, of the first link
    masses: wl.Config = wl.vec2(1.0, 1.0)  # kg
    centres: wl.Config = wl.vec2(0.5, 0.5)  # m, from a link's joint to its centre of mass
    moment: wl.Config = 1.0  # kg m^2, moment of inertia of either link
    nips: wl.Config = False  # the equations of the NIPS paper, which lack a term
    low: wl.Config = -0.1  # bounds of each initial state variable
    high: wl.Config = 0.1


@wl.function
def derivative(
    state: wl.vec4, torque: float, length: float, masses: wl.vec2, centres: wl.vec2, moment: float, nips: bool
) -> wl.vec4:
    """The time derivative of (angle, angle, spin, spin)."""
    first, second, spin, bend = state.x, state.y, state.z, state.w
    arm = masses.y * length * centres.y
    d1 = masses.x * centres.x**2 + masses.y * (length**2 + centres.y**2) + 2.0 * arm * cos(second) + 2.0 * moment
    d2 = masses.y * centres.y**2 + arm * cos(second) + moment
    phi2 = masses.y * centres.y * GRAVITY * sin(first + second)
    phi1 = (
        phi2
        - arm * sin(second) * bend * (bend + 2.0 * spin)
        + (masses.x * centres.x + masses.y * length) * GRAVITY * sin(first)
    )
    drive = torque + d2 / d1 * phi1 - phi2
    if not nips:
        drive -= arm * spin**2 * sin(second)
    bending = drive / (masses.y * centres.y**2 + moment - d2**2 / d1)
    return wl.vec4(spin, bend, -(d2 * bending + phi1) / d1, bending)


@wl.function
def wrapped(angle: float) -> float:
    """The angle wrapped to -pi to pi."""
    return angle - 2.0 * pi * floor((angle + pi) / (2.0 * pi))


@wl.system
def swing(links: Links, world: Acrobot):
    torque = world.torques[links.turn]
    if world.torque_noise_max > 0.0:
        torque += world.random(-world.torque_noise_max, world.torque_noise_max)
    length, masses, centres, moment, nips = world.length, world.masses, world.centres, world.moment, world.nips
    # One step of the classical Runge-Kutta method.
    start = wl.vec4(links.angles.x, links.angles.y, links.spins.x, links.spins.y)
    k1 = derivative(start, torque, length, masses, centres, moment, nips)
    k2 = derivative(start + k1 * (world.dt / 2.0), torque, length, masses, centres, moment, nips)
    k3 = derivative(start + k2 * (world.dt / 2.0), torque, length, masses, centres, moment, nips)
    k4 = derivative(start + k3 * world.dt, torque, length, masses, centres, moment, nips)
    after = start + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (world.dt / 6.0)
    links.angles = wl.vec2(wrapped(after.x), wrapped(after.y))
    links.spins = wl.vec2(clamp(after.z, -MAX_SPINS.x, MAX_SPINS.x), clamp(after.w, -MAX_SPINS.y, MAX_SPINS.y))


@wl.system
def judge(links: Links, world: Acrobot):
    if -cos(links.angles.x) - cos(links.angles.x + links.angles.y) > 1.0:
        world.terminate()
    else:
        links.reward = -1.0


@wl.system
def place(links: Links, world: Acrobot):
    links.angles = wl.vec2(world.random(world.low, world.high), world.random(world.low, world.high))
    links.spins = wl.vec2(world.random(world.low, world.high), world.random(world.low, world.high))


@wl.system
def look(links: Links):
    first, second = links.angles.x, links.angles.y
    links.sight = Sight(cos(first), sin(first), cos(second), sin(second), links.spins.x, links.spins.y)


def draw(sim: wl.Simulation, world: int) -> Image:
    first, second = (float(angle) for angle in sim["Links"].angles.numpy()[world, 0])
    lengths = sim.world.length.numpy()
    upper = float(lengths[world % len(lengths)])
    scale, middle = 500.0 / (2.0 * (upper + 1.2)), 250.0
    canvas = Canvas(500, 500)
    canvas.rectangle(0.0, middle - scale, 500.0, 1.0, (0, 0, 0))
    x, y = middle, middle
    for length, angle in ((upper, first), (1.0, first + second)):
        half_width = 0.1 * scale
        sides = [(-half_width, 0.0), (half_width, 0.0), (half_width, length * scale), (-half_width, length * scale)]
        canvas.polygon(rotated(sides, -angle, x, y), (0, 204, 204))
        canvas.circle(x, y, half_width, (204, 204, 0))
        ((x, y),) = rotated([(0.0, length * scale)], -angle, x, y)
    return canvas.image()


ACROBOT = wl.register(
    "Acrobot-v1",
    world=Acrobot,
    entities={Links: 1},
    reset=[place],
    step=[swing, judge],
    observe=[look],
    max_steps=500,
    render=draw,
)
