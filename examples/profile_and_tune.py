"""Explain, profile, tune: why systems do not share a kernel, the time of each kernel, and better block sizes."""

import json
import tempfile
from pathlib import Path

import worldloom as wl
from worldloom import cos, sin


class Boat(wl.Entity):
    rudder: wl.Action(wl.Box(-1.0, 1.0))
    heading: float
    position: wl.vec2
    crowd: float
    sight: wl.Observation(3)


class Bay(wl.World):
    speed: wl.Config = 0.1


@wl.system
def steer(boat: Boat):
    boat.heading += 0.1 * boat.rudder


@wl.system
def sail(boat: Boat, world: Bay):
    boat.position += world.speed * wl.vec2(cos(boat.heading), sin(boat.heading))


@wl.system
def count_near(boat: Boat, world: Bay):
    boat.crowd = 0.0
    for other in world.all(Boat):
        if other.id != boat.id and wl.length(other.position - boat.position) < 1.0:
            boat.crowd += 1.0


@wl.system
def look(boat: Boat):
    boat.sight = wl.vec3(boat.position.x, boat.position.y, boat.crowd)


wl.register("Bay-v0", world=Bay, entities={Boat: 8}, step=[steer, sail, count_near], observe=[look], max_steps=100)

if __name__ == "__main__":
    sim = wl.Simulation("Bay-v0", num_worlds=2048, device="auto", seed=0)

    why = sim.explain()
    kernels = len([k for k in why.kernels if k.phase == "step"])
    print(f"{why.systems} systems in {kernels} kernels, {why.bytes_unfused} to {why.bytes_fused} bytes per world")
    print(next(reason for reason in why.separate if reason.startswith("count_near")))

    profile = sim.profile(steps=10)
    slowest = max(profile.systems, key=lambda system: system.seconds)
    print(f"slowest system: {slowest.name}")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "steps.json"  # open such a file in ui.perfetto.dev
        profile.save_trace(trace)
        print(f"events in the trace: {len(json.loads(trace.read_text())['traceEvents']) > 10}")

    tuning = sim.tune()  # on a GPU: measured, used from now on, and stored on disk
    print(f"a step gained {tuning.gain:.0%}" if tuning.kernels else tuning.note)
