"""The COVID-19 economy with synthetic data: constant policies and historical decisions. No tool for policy making."""

import numpy as np

import worldloom as wl
from worldloom.envs.covid.economy import Mode

LEVELS = [1, 4, 7, 10]  # of stringency, held by all governors of a world

sim = wl.Simulation("CovidEconomySynthetic-v0", num_worlds=5, seed=0)
sim.set_config(
    "mode", np.array([Mode.MODEL] * 4 + [Mode.REAL_POLICIES], np.int32)
)  # in the last world the decisions are those of the data
governors, planner = sim["Governor"], sim["Planner"]
stringency = np.repeat([*LEVELS, 0], 51).reshape(5, 51)
welfare = np.zeros(5)
for _ in range(400):
    sim.step({"Governor.stringency": stringency, "Planner.subsidy": np.zeros((5, 1), np.int32)})
    welfare += planner.reward.numpy()[:, 0]

people = sim.get_config("population").sum()
for world, name in enumerate([*(f"level {level}" for level in LEVELS), "as it was"]):
    deaths = governors.deaths.numpy()[world].sum() / people
    unemployed = governors.unemployed.numpy()[world].sum() / people
    print(f"{name}: {deaths:.2%} died, {unemployed:.1%} without work, welfare {welfare[world]:.0f}")
print(
    f"{int(governors.action_mask.numpy()[0].sum(axis=1).max())} of 11 actions are open to a governor, "
    f"faults: {sim.errors()}"
)
