"""CartPole: keep the pole up by pushing the cart left or right."""

import functools
from math import inf

import worldloom as wl
from worldloom import cos, radians, sin
from worldloom.envs.cartpole_rendering import draw


class Cart(wl.Entity):
    x: wl.Finite(float)  # m
    velocity: float  # m/s
    angle: wl.Finite(float)  # rad, 0 is upright
    spin: float  # rad/s
    push: wl.Action(wl.Discrete(2))  # 0 left, 1 right
    sight: wl.Observation(4, low=(-4.8, -inf, -0.41887903, -inf), high=(4.8, inf, 0.41887903, inf))
    reward: wl.Reward


class CartPole(wl.World):
    force: wl.Config = 10.0  # N
    gravity: wl.Config = 9.8  # m/s^2
    cart_mass: wl.Config = 1.0  # kg
    pole_mass: wl.Config = 0.1  # kg
    half_length: wl.Config = 0.5  # m, of the pole
    tau: wl.Config = 0.02  # s, between two steps
    low: wl.Config = -0.05  # bounds of each initial state variable
    high: wl.Config = 0.05
    sutton_barto_reward: wl.Config = False  # reward 0 per step and -1 at the fall, instead of 1 per step


@wl.system
def swing(cart: Cart, world: CartPole):
    force = world.force if cart.push == 1 else -world.force
    mass = world.cart_mass + world.pole_mass
    moment = world.pole_mass * world.half_length
    sine, cosine = sin(cart.angle), cos(cart.angle)
    inertia = (force + moment * cart.spin**2 * sine) / mass
    turn = (world.gravity * sine - cosine * inertia) / (
        world.half_length * (4.0 / 3.0 - world.pole_mass * cosine**2 / mass)
    )
    pull = inertia - moment * turn * cosine / mass
    cart.x += world.tau * cart.velocity
    cart.velocity += world.tau * pull
    cart.angle += world.tau * cart.spin
    cart.spin += world.tau * turn


@wl.system
def judge(cart: Cart, world: CartPole):
    fallen = abs(cart.x) > 2.4 or abs(cart.angle) > radians(12.0)
    if fallen:
        world.terminate()
    cart.reward = 1.0
    if world.sutton_barto_reward:
        cart.reward = -1.0 if fallen else 0.0


@wl.system
def place(cart: Cart, world: CartPole):
    cart.x = world.random(world.low, world.high)
    cart.velocity = world.random(world.low, world.high)
    cart.angle = world.random(world.low, world.high)
    cart.spin = world.random(world.low, world.high)


@wl.system
def look(cart: Cart):
    cart.sight = wl.vec4(cart.x, cart.velocity, cart.angle, cart.spin)


register_version = functools.partial(
    wl.register,
    world=CartPole,
    entities={Cart: 1},
    reset=[place],
    step=[swing, judge],
    observe=[look],
    render=draw,
    frames_per_second=50,
)
CARTPOLE_V0 = register_version("CartPole-v0", max_steps=200)
CARTPOLE_V1 = register_version("CartPole-v1", max_steps=500)
