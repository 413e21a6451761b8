"""Overcooked: a scripted cook, several layouts in one batch, and a layout of your own."""

import numpy as np

import worldloom as wl
from worldloom.envs.overcooked.catalogue import CLASSIC, named_layout
from worldloom.envs.overcooked.layout import parse_layout
from worldloom.envs.overcooked.world import set_layouts

NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(6)

sim = wl.Simulation("Overcooked-v0:old_dynamics=true", num_worlds=1, device="python", seed=0)
onion = [WEST, INTERACT, EAST, NORTH, INTERACT]  # from the dispenser into the pot
plan = [NORTH, *onion, WEST, *onion, WEST, *onion, SOUTH, WEST, SOUTH, INTERACT, NORTH, EAST]
plan += [STAY] * 20 + [NORTH, INTERACT, SOUTH, EAST, SOUTH, INTERACT]
shaped = served = 0.0
for act in plan:
    sim.step(np.array([[act, STAY]], np.int32))
    shaped += sim["Player"].shaped.numpy().sum()
    served += sim["Player"].sparse.numpy().sum()
print(f"one soup in {len(plan)} steps: {served:.0f} for the delivery, {shaped:.0f} for what led to it")

batch = wl.Simulation("Overcooked-v0:size=9x5,pots=2", num_worlds=6, device="python", seed=0)
mine = parse_layout("XXPXX\nO 1 D\nX2  X\nXTSXX", name="mine")
layouts = [*map(named_layout, CLASSIC), mine]
set_layouts(batch, layouts)
pots = batch["Player"].sight.numpy()[:, 0, :, :, 10].sum(axis=(1, 2))
print("pots: " + ", ".join(f"{layout.name} {count}" for layout, count in zip(layouts, pots, strict=True)))
print(f"the picture of a world: {sim.definition.render(sim, 0).shape}")
