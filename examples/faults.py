"""Faults: an error in one world is reported and that world is reset, while the others continue."""

import numpy as np

import worldloom as wl


class Probe(wl.Entity):
    turn: wl.Action(wl.Discrete(3))
    heat: wl.Finite(float) = 10.0  # a NaN or an infinity in it is a fault
    log: wl.Array(float, 20)


class Lab(wl.World):
    gain: wl.Config = 1.0


@wl.system
def warm(probe: Probe, world: Lab):
    probe.heat = probe.heat * world.gain
    probe.log[probe.turn + world.step * 10] = probe.heat  # out of bounds at step 2
    if probe.heat < 0.0:
        world.fail("the probe is colder than nothing")


wl.register("Lab-v0", world=Lab, entities={Probe: 1}, step=[warm], max_steps=2)

gain = np.ones(6, np.float32)
gain[2], gain[3] = 3e38, -1.0  # ten times the first exceeds the range of a float32
sim = wl.Simulation("Lab-v0", num_worlds=6, config={"gain": gain})
sim.step(np.array([0, 9, 0, 0, 1, 2], np.int32))
for fault in sim.errors():
    print(fault)
print("truncated:", sim.truncated.numpy().tolist())

sim.set_config("gain", 1.0)
sim.set_config("max_steps", 0)
for _ in range(3):
    sim.step(np.zeros(6, np.int32))
print(len(sim.errors()), "worlds ran out of their log")
print("no faults left:", sim.errors() == [])
