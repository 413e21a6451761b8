"""Two hundred small systems, each reading what the one before wrote: what a launch costs, and what fusion saves."""

from __future__ import annotations

from dataclasses import dataclass

from step_rate import seconds_per_call

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec

SYSTEMS, WORLDS = 200, 16_384


class Walker(wl.Entity):
    position: float
    speed: float


class Track(wl.World):
    drag: wl.Config = 0.99


@wl.system
def walk(walker: Walker, world: Track):
    walker.position += walker.speed
    walker.speed = walker.speed * world.drag + 0.01


CHAIN = wl.Definition("Chain-v0", Track, {Walker: 1}, step=(walk,) * SYSTEMS, doc="Two hundred small dependent systems")


@dataclass
class ManySystems:
    fused: bool
    kernels: int
    milliseconds: float


def bench_many_systems(device: str, seconds: float) -> list[ManySystems]:
    rows = []
    for fuse in (False, True):
        sim = wl.Simulation(CHAIN, WORLDS, device, seed=0, fuse=fuse)
        each = seconds_per_call(lambda i, s=sim: s.step(), device, seconds)
        rows.append(ManySystems(fuse, sum(isinstance(k, KernelSpec) for k in sim.program.step), each * 1e3))
        sim.close()
    return rows
