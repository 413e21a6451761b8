"""Agents that leave one by one: terminate() on an entity ends its episode alone; the world ends with the last."""

import numpy as np

import worldloom as wl


class Climber(wl.Entity):
    height: int
    climb: wl.Action(wl.Discrete(2))
    reward: wl.Reward


class Wall(wl.World):
    top: wl.Config = 3


@wl.system
def move(climber: Climber, world: Wall):
    if not climber.active:  # systems also run for entities that have left
        return
    climber.height += climber.climb
    if climber.height == world.top:
        climber.reward = 1.0
        climber.terminate()


wl.register("Wall-v0", world=Wall, entities={Climber: 3}, step=[move], max_steps=20)

sim = wl.Simulation("Wall-v0", num_worlds=1, device="python", autoreset="disabled")  # one world needs no compiler
for step in range(6):
    climb = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]][step : step + 1], np.int32)
    sim.step(climb)
    climbers = sim[Climber]
    print(
        f"step {step + 1}: height {climbers.height.numpy()[0]} active {climbers.active.numpy()[0]} "
        f"terminated {climbers.terminated.numpy()[0]} world {sim.terminated.numpy()[0]}"
    )
