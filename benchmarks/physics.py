"""Rigid bodies: world steps per second of three scenes, and the share of each system.

python benchmarks/physics.py --device cuda:0 --worlds 4096 16384 65536 --out physics.json

``falling``: 8 boxes drop onto a floor. ``hideseek``: the bodies of HideSeek in rooms of static walls; 5 agents are
pushed by random forces, and stop after every step. ``crowded``: the same bodies without inner walls on a quarter of the
area, in contact with each other. The share of a system is measured with every system in a kernel of its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom import physics
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import median_rates, step_runner, time_systems

Scene = Literal["falling", "hideseek", "crowded"]

AGENTS = 5
CUBES = 4
LONG_BOXES = 4
WEDGES = 2
WALLS = np.array(
    [
        # x, y, half extents along x and y: 4 outer walls with a door in one, and 10 inner ones
        [0.0, 18.0, 18.0, 0.2],
        [-18.0, 0.0, 0.2, 18.0],
        [18.0, 0.0, 0.2, 18.0],
        [-10.0, -18.0, 8.0, 0.2],
        [10.0, -18.0, 6.0, 0.2],
        [-6.0, 12.0, 0.2, 6.0],
        [-6.0, -3.0, 0.2, 6.0],
        [-14.0, 6.0, 4.0, 0.2],
        [-3.0, 0.0, 3.0, 0.2],
        [7.0, 2.0, 0.2, 4.0],
        [7.0, 14.0, 0.2, 4.0],
        [13.0, 6.0, 3.0, 0.2],
        [9.0, -8.0, 5.0, 0.2],
        [2.0, -13.0, 0.2, 5.0],
    ],
    np.float32,
)


class Block(physics.Body):
    pushed: bool  # by random forces


class Yard(physics.World):
    arena: wl.Config = 17.0  # m, half its width
    num_walls: wl.Config = len(WALLS)
    walls: wl.Config = WALLS


SOLID = physics.systems(Yard, Block)


@wl.system
def drop(world: Yard):
    world.spawn(Block, shape=physics.PLANE, motion=physics.STATIC)
    for i in range(8):
        world.spawn(
            Block,
            size=wl.vec3(0.5, 0.4, 0.3),
            position=wl.vec3(world.random(-1.0, 1.0), world.random(-1.0, 1.0), 1.0 + 0.8 * float(i)),
            rotation=wl.normalize(wl.quat(world.normal(), world.normal(), world.normal(), world.normal())),
        )


@wl.system
def furnish(world: Yard):
    world.spawn(Block, shape=physics.PLANE, motion=physics.STATIC, friction=0.1)
    for i in range(world.num_walls):
        world.spawn(
            Block,
            size=wl.vec3(world.walls[i, 2], world.walls[i, 3], 1.25),
            position=wl.vec3(world.walls[i, 0], world.walls[i, 1], 1.25),
            motion=physics.STATIC,
        )
    for i in range(CUBES + LONG_BOXES + WEDGES + AGENTS):
        yaw = world.random(0.0, 3.1415927)
        size = wl.vec3(1.0, 1.0, 1.0)
        height = 1.0
        shape = physics.BOX
        factor = wl.vec3(1.0, 1.0, 1.0)
        mass = 2.0
        friction = 0.5
        if i < LONG_BOXES:
            size = wl.vec3(4.0, 0.75, 1.0)
        elif i < CUBES + LONG_BOXES + WEDGES:
            if i >= CUBES + LONG_BOXES:
                shape = physics.WEDGE
                size = wl.vec3(1.0, 1.5, 1.0)
                height = 2.0 / 3.0
        else:
            factor = wl.vec3(0.0, 0.0, 1.0)
            mass = 1.0
            friction = 0.01
        world.spawn(
            Block,
            shape=shape,
            size=size,
            position=wl.vec3(world.random(-world.arena, world.arena), world.random(-world.arena, world.arena), height),
            rotation=wl.quat_from_axis_angle(wl.vec3(0.0, 0.0, 1.0), yaw),
            angular_factor=factor,
            mass=mass,
            friction=friction,
            pushed=i >= CUBES + LONG_BOXES + WEDGES,
        )


@wl.system
def push(block: Block, world: Yard):
    if block.pushed:
        x, y = float(world.integer(11) - 5), float(world.integer(11) - 5)
        block.force = wl.quat_rotate(block.rotation, wl.vec3(96.0 * x, 96.0 * y, 0.0))
        block.torque = wl.vec3(0.0, 0.0, 32.0 * float(world.integer(11) - 5))


@wl.system
def stop(block: Block):
    if block.pushed:
        block.velocity = wl.vec3(0.0, 0.0, min(block.velocity.z, 0.0))
        block.spin = wl.vec3(0.0, 0.0, 0.0)


BODIES = 1 + len(WALLS) + CUBES + LONG_BOXES + WEDGES + AGENTS
wl.register(
    "BenchFalling-v0",
    world=Yard,
    entities={Block: wl.UpTo(9), **SOLID.entities(pairs=36, contacts=36)},
    reset=[drop],
    step=SOLID.step,
    max_steps=90,
)
wl.register(
    "BenchHideSeek-v0",
    world=Yard,
    entities={Block: wl.UpTo(BODIES), **SOLID.entities(pairs=128, contacts=96)},
    reset=[furnish],
    step=[push, *SOLID.step, stop],
    max_steps=240,
)


@dataclass
class Settings:
    """Measure the physics of rigid bodies."""

    device: str = "cpu"
    """cpu or cuda:0."""
    scenes: tuple[Scene, ...] = ("falling", "hideseek", "crowded")
    """Scenes to measure."""
    worlds: tuple[int, ...] = ()
    """Numbers of worlds; by default 256 on a CPU, and 4096, 16384 and 65536 on a GPU."""
    threads: int = 1
    """CPU threads."""
    warm_up: int = 30
    """Steps before the measurement."""
    seconds: float = 3.0
    """Approximate time of each measurement."""
    exact: bool = False
    """Exact mode: the same bits on every device."""
    systems: bool = True
    """Whether to time every system."""
    tune: bool = False
    """On a GPU: whether to search block sizes first."""
    json: bool = False
    """Whether to print JSON instead of tables."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Rate:
    """The speed of one scene."""

    scene: str
    worlds: int
    world_steps: float  # per second
    microseconds: float  # per step of the batch
    pairs: float  # per world, mean
    contacts: float  # per world, mean
    shares: dict[str, float] = field(default_factory=dict)  # of the time, by system


def make(scene: Scene, num_worlds: int, settings: Settings) -> wl.Simulation:
    name = "BenchFalling-v0" if scene == "falling" else "BenchHideSeek-v0"
    on_cpu: dict[str, Any] = {"threads": settings.threads} if settings.device == "cpu" else {}
    sim = wl.Simulation(name, num_worlds, settings.device, seed=0, exact=settings.exact, **on_cpu)
    if scene == "crowded":
        sim.set_config("arena", 6.0)
        sim.set_config("num_walls", 5)
        sim.reset()
    return sim


def bench(scene: Scene, num_worlds: int, settings: Settings) -> Rate:
    with make(scene, num_worlds, settings) as sim:
        for _ in range(settings.warm_up):
            sim.step()
        if settings.tune:
            make_console().print(sim.tune())
        rate = median_rates({"step": step_runner(sim, [None])}, settings.seconds)["step"]
        pairs, contacts = (float(sim[kind].counts.numpy().mean()) for kind in (physics.Pair, SOLID.Contact))
        shares: dict[str, float] = {}
        if settings.systems:
            for system in time_systems(sim):
                shares[system.name] = shares.get(system.name, 0.0) + system.share
        errors = sim.errors()
    if errors:
        raise RuntimeError(f"{scene}: {errors[0]}")
    return Rate(scene, num_worlds, num_worlds * rate, 1e6 / rate, pairs, contacts, shares)


def main(settings: Settings) -> None:
    worlds = settings.worlds or ((256,) if settings.device == "cpu" else (4096, 16384, 65536))
    rates = [bench(scene, count, settings) for scene in settings.scenes for count in worlds]
    machine = describe_machine(resolve(settings.device)[0])
    report = {"machine": machine, "settings": asdict(settings), "rates": [asdict(rate) for rate in rates]}
    text = json.dumps(report, indent=1, default=str)
    if settings.json:
        print(text)
    else:
        rows = [{k: v for k, v in asdict(rate).items() if k != "shares"} for rate in rates]
        console = make_console()
        show(console, f"physics on {settings.device}", rows)
        names = sorted({name for rate in rates for name, share in rate.shares.items() if share >= 0.01})
        shares = [
            {"scene": rate.scene, "worlds": rate.worlds, **{n: f"{rate.shares.get(n, 0.0):.0%}" for n in names}}
            for rate in rates
        ]
        if names:
            show(console, "share of each system", shares)
    if settings.out is not None:
        settings.out.write_text(text)


if __name__ == "__main__":
    main(tyro.cli(Settings))
