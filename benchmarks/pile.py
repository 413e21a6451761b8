"""One world of thousands of bodies that fall into a box and come to rest: steps per second and mean speed over time.

python benchmarks/pile.py --bodies 10000 --device cuda:0 --out pile.json

Spheres, capsules and boxes of about 0.25 m fall in layers between four walls. The contacts of the one world are
solved in parallel over the device, by ``physics.systems(..., mapping="many_bodies")``.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import tyro
from run import describe_machine, make_console, show

import worldloom as wl
from worldloom import physics
from worldloom.core.base.device import resolve
from worldloom.physics.many_bodies.components import FoundPair

SPACING = 0.6  # m, between the centres of bodies at the start
HALF = 0.25  # m


class Stone(physics.ManyBody):
    pass


class Pit(physics.World):
    num_stones: wl.Config = 100
    row: wl.Config = 5  # stones along each side of a layer
    sleep_speed: wl.Config = 0.03  # m/s; a deep pile creeps at a third of it
    kinds: wl.Config = 3  # boxes alone, boxes and spheres, or boxes, spheres and capsules


@wl.system
def fill(world: Pit):
    world.spawn(Stone, shape=physics.PLANE, motion=physics.STATIC)
    half = 0.5 * SPACING * float(world.row) + 0.1
    for i in range(4):
        angle = 0.5 * math.pi * float(i)
        inward = wl.vec3(wl.cos(angle), wl.sin(angle), 0.0)
        turn = wl.quat_from_axis_angle(wl.vec3(-inward.y, inward.x, 0.0), 0.5 * math.pi)
        world.spawn(Stone, shape=physics.PLANE, motion=physics.STATIC, position=inward * -half, rotation=turn)
    for i in range(world.num_stones):
        layer = i // (world.row * world.row)
        x = float(i % world.row) - 0.5 * float(world.row - 1)
        y = float((i // world.row) % world.row) - 0.5 * float(world.row - 1)
        place = wl.vec3(x * SPACING, y * SPACING, 0.5 + 0.7 * float(layer))
        place += wl.vec3(world.random(-0.04, 0.04), world.random(-0.04, 0.04), 0.0)
        kind = i % world.kinds
        shape = physics.BOX
        size = wl.vec3(HALF, 0.8 * HALF, 0.7 * HALF)
        if kind == 1:
            shape = physics.SPHERE
            size = wl.vec3(0.9 * HALF, 0.0, 0.0)
        elif kind == 2:
            shape = physics.CAPSULE
            size = wl.vec3(0.6 * HALF, 0.5 * HALF, 0.0)
        world.spawn(
            Stone,
            shape=shape,
            size=size,
            position=place,
            rotation=wl.normalize(wl.quat(world.normal(), world.normal(), world.normal(), world.normal())),
        )


def register(bodies: int, sweeps: int, shapes: tuple[int, ...]) -> str:
    """The name of a world with room for this many bodies."""
    solid = physics.systems(Pit, Stone, shapes, mapping="many_bodies", sweeps=sweeps)
    name = f"Pile{bodies}x{sweeps}-v0"
    kinds = {Stone: wl.UpTo(bodies + 5), **solid.entities(pairs=24 * bodies, contacts=12 * bodies, large=64)}
    wl.register(name, world=Pit, entities=kinds, reset=[fill], step=solid.step)
    return name


@dataclass
class Settings:
    """Measure one world of many bodies."""

    bodies: int = 1000
    """Number of bodies."""
    device: str = "cpu"
    """cpu or cuda:0."""
    row: int | None = None
    """Bodies along each side of a layer; by default such that the pile is about half as high as wide."""
    seconds: float = 20.0
    """Simulated time, s."""
    sweeps: int = 4
    """Passes over all contacts in each half of a substep."""
    exact: bool = False
    """Exact mode: the same bits on every device."""
    json: bool = False
    """Whether to print JSON instead of a table."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Moment:
    """The pile at one time."""

    time: float  # s, simulated
    mean_speed: float  # m/s
    max_speed: float  # m/s
    mean_height: float  # m
    pairs: int
    contacts: int
    steps_per_second: float  # since the last row


def observe(sim: wl.Simulation, steps: int, elapsed: float, seconds: float) -> Moment:
    stones = sim[Stone]
    count = int(stones.counts.numpy()[0])
    speed = np.linalg.norm(stones.velocity.torch()[0, 5:count].cpu().numpy(), axis=1)
    height = stones.position.torch()[0, 5:count, 2].cpu().numpy()
    pairs, contacts = (int(sim[kind].counts.numpy()[0]) for kind in (FoundPair, "Contact"))
    return Moment(
        seconds, float(speed.mean()), float(speed.max()), float(height.mean()), pairs, contacts, steps / elapsed
    )


def measure(settings: Settings) -> list[Moment]:
    """The pile after every simulated second."""
    name = register(settings.bodies, settings.sweeps, (physics.PLANE, physics.SPHERE, physics.CAPSULE, physics.BOX))
    row = settings.row or max(math.ceil((settings.bodies / 1.5) ** (1.0 / 3.0)), 2)
    config = {"num_stones": settings.bodies, "row": row}
    moments = []
    with wl.Simulation(name, 1, settings.device, seed=0, exact=settings.exact, config=config) as sim:
        for second in range(1, math.ceil(settings.seconds) + 1):
            begin = time.perf_counter()
            for _ in range(30):
                sim.step()
            errors = sim.errors()  # waits for the device
            elapsed = time.perf_counter() - begin
            if errors:
                raise RuntimeError(str(errors[0]))
            moments.append(observe(sim, 30, elapsed, float(second)))
    return moments


def main(settings: Settings) -> None:
    moments = measure(settings)
    rows = [asdict(moment) for moment in moments]
    machine = describe_machine(resolve(settings.device)[0])
    text = json.dumps({"machine": machine, "settings": asdict(settings), "moments": rows}, indent=1, default=str)
    if settings.json:
        print(text)
    else:
        show(make_console(), f"{settings.bodies} bodies on {settings.device}", rows)
    if settings.out is not None:
        settings.out.write_text(text)


if __name__ == "__main__":
    main(tyro.cli(Settings))
