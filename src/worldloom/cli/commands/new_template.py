"""Templates of the files that ``worldloom new`` writes; ``@snake@`` and ``@Camel@`` are replaced by the name."""

WORLD = '''"""@Camel@: foragers search for berries; an eaten berry grows again at a random position."""

import worldloom as wl


class Forager(wl.Entity):
    position: wl.vec2  # m
    move: wl.Action(wl.Discrete(5))  # 0 stay, 1 left, 2 right, 3 down, 4 up
    sight: wl.Observation(4)  # own position, offset of the nearest berry
    reward: wl.Reward


class Berry(wl.Entity):
    position: wl.vec2  # m


class @Camel@(wl.World):
    size: wl.Config = 10.0  # m, from the centre to each edge
    speed: wl.Config = 0.5  # m per step
    reach: wl.Config = 0.6  # m


@wl.system
def walk(forager: Forager, world: @Camel@):
    way = wl.vec2(0.0, 0.0)
    if forager.move == 1:
        way = wl.vec2(-1.0, 0.0)
    elif forager.move == 2:
        way = wl.vec2(1.0, 0.0)
    elif forager.move == 3:
        way = wl.vec2(0.0, -1.0)
    elif forager.move == 4:
        way = wl.vec2(0.0, 1.0)
    moved = forager.position + way * world.speed
    forager.position = wl.vec2(wl.clamp(moved[0], -world.size, world.size), wl.clamp(moved[1], -world.size, world.size))


@wl.system
def eat(berry: Berry, world: @Camel@):
    for forager in world.all(Forager):  # the foragers of the same world
        if wl.length(forager.position - berry.position) < world.reach:
            forager.reward += 1.0
            berry.position = wl.vec2(world.random(-world.size, world.size), world.random(-world.size, world.size))
            break


@wl.system
def scatter_foragers(forager: Forager, world: @Camel@):
    forager.position = wl.vec2(world.random(-world.size, world.size), world.random(-world.size, world.size))


@wl.system
def scatter_berries(berry: Berry, world: @Camel@):
    berry.position = wl.vec2(world.random(-world.size, world.size), world.random(-world.size, world.size))


@wl.system
def look(forager: Forager, world: @Camel@):
    nearest = 1000.0
    way = wl.vec2(0.0, 0.0)
    for berry in world.all(Berry):
        distance = wl.length(berry.position - forager.position)
        if distance < nearest:
            nearest = distance
            way = berry.position - forager.position
    forager.sight = wl.vec4(forager.position[0], forager.position[1], way[0], way[1])


wl.register(
    "@Camel@-v0",
    world=@Camel@,
    entities={Forager: 2, Berry: 8},
    reset=[scatter_foragers, scatter_berries],
    step=[walk, eat],
    observe=[look],
    max_steps=200,
)
'''

TEST = '''"""Tests of @Camel@'s rules, interpreted and compiled: python -m pytest test_@snake@.py"""

import numpy as np
import worldloom as wl
from worldloom.core.tools.compare import compare

import @snake@  # noqa: F401 - registers the world


def test_it_runs_the_same_interpreted_and_compiled():
    assert compare("@Camel@-v0", ("python", "cpu"), num_worlds=4, steps=30) is None


def test_a_berry_in_reach_is_eaten_and_grows_elsewhere():
    sim = wl.Simulation("@Camel@-v0", num_worlds=1, device="cpu", seed=0)
    foragers, berries = sim["Forager"].position.numpy(), sim["Berry"].position.numpy()
    berries[:] = (9.0, 9.0)
    foragers[0, 0], foragers[0, 1] = (0.0, 0.0), (-9.0, -9.0)
    berries[0, 0] = (0.1, 0.0)
    sim.step(np.zeros((1, 2), np.int32))
    assert sim["Forager"].reward.numpy().tolist() == [[1.0, 0.0]]
    assert not np.allclose(berries[0, 0], (0.1, 0.0))


def test_foragers_stay_inside():
    sim = wl.Simulation("@Camel@-v0", num_worlds=8, device="cpu", seed=0)
    for _ in range(60):
        sim.step(np.full((8, 2), 2, np.int32))
    assert (sim["Forager"].position.numpy()[..., 0] == 10.0).all()
'''

RUN = '''"""Run 1,024 worlds of @Camel@ at once: python run_@snake@.py"""

import time

import numpy as np
import worldloom as wl

import @snake@  # noqa: F401 - registers the world

WORLDS, STEPS = 1024, 1000

sim = wl.Simulation("@Camel@-v0", num_worlds=WORLDS, device="auto", seed=0)
generator = np.random.default_rng(0)
actions = [generator.integers(0, 5, (WORLDS, 2), dtype=np.int32) for _ in range(8)]
eaten = 0.0
start = time.perf_counter()
for step in range(STEPS):
    sim.step(actions[step % 8])
    eaten += float(sim["Forager"].reward.numpy().sum())
seconds = time.perf_counter() - start
print(f"{WORLDS * STEPS / seconds:,.0f} world steps per second")
print(f"random foragers ate {eaten / WORLDS:.1f} berries per world in {STEPS} steps")
'''
