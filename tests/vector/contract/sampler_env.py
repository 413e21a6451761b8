"""Environments with any space. Workers of pools import this file, so it does not import worldloom."""

import copy

import gymnasium
import numpy as np
from gymnasium import spaces


class Hexagon(gymnasium.Space):
    """A space that Gymnasium does not know."""

    def __init__(self):
        super().__init__(None, None)

    def sample(self, mask=None, probability=None):
        return f"hex{self.np_random.integers(6)}"

    def contains(self, x):
        return isinstance(x, str) and x.startswith("hex")

    def __eq__(self, other):
        return isinstance(other, Hexagon)


class Sampler(gymnasium.Env):
    """Observes samples of its space and, in its info, the action that it got; ends every third step."""

    def __init__(self, space):
        self.observation_space, self.action_space = copy.deepcopy(space), space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        if isinstance(action, str) and action.endswith("!"):
            raise RuntimeError("loud")
        return self.observation_space.sample(), 1.0, self.steps == 3, False, {"action": repr(action)}


def bounded(high):
    return lambda: Sampler(spaces.Box(0.0, high, (2,), np.float32))


def same_action(high):
    env = Sampler(spaces.Box(0.0, high, (2,), np.float32))
    env.action_space = spaces.Discrete(2)
    return env
