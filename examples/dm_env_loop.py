"""One world as a dm_env environment, in a loop of the kind of Acme's: Q-learning from the specs of the world."""

import numpy as np

from worldloom.vector import WorldDmEnv

env = WorldDmEnv("FrozenLake-v1", seed=0, is_slippery=False)
observations, actions = env.observation_spec(), env.action_spec()
random = np.random.default_rng(0)
values = np.zeros((observations.num_values, actions.num_values))


def run_episode(exploration: float) -> tuple[int, float]:
    """One episode of learning: its number of steps and its return."""
    steps, total = 0, env.reward_spec().generate_value()
    timestep = env.reset()
    while not timestep.last():
        observation = timestep.observation
        noise = random.random(actions.num_values)
        best = values[observation] + 1e-6 * noise  # equal values: any of them
        action = noise.argmax() if random.random() < exploration else best.argmax()
        timestep = env.step(action)
        target = timestep.reward + 0.95 * timestep.discount * values[timestep.observation].max()
        values[observation, action] += 0.3 * (target - values[observation, action])
        steps, total = steps + 1, total + timestep.reward
    return steps, float(total)


learning = [run_episode(exploration=0.2) for _ in range(500)]
steps, total = run_episode(exploration=0.0)
print(f"goal reached in {sum(total for _, total in learning):.0f} of 500 episodes of learning, then in {steps} steps")
