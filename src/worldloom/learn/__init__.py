"""Learning: algorithms that train policies in worlds without leaving the device, and the parts they are made of.

``PPO("CartPole-v1", PPOConfig()).learn(1_000_000)`` is all it takes. The parts work alone in loops of one's own: :class:`Sampler` draws
actions, :func:`gae`, :func:`n_step_returns` and :func:`vtrace` say how good they were, and :class:`Storage` keeps them.
"""

from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.learner import PolicyGroup
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.losses.advantages import gae, n_step_returns
from worldloom.learn.losses.vtrace_targets import vtrace
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import Storage
from worldloom.learn.training.callbacks import Callback, StopAfter, StopAt
from worldloom.learn.training.progress import Progress

__all__ = [
    "A2C",
    "DQN",
    "PPO",
    "A2CConfig",
    "ActionSpec",
    "Callback",
    "DQNConfig",
    "ObservationSpec",
    "PPOConfig",
    "Policy",
    "PolicyConfig",
    "PolicyGroup",
    "PolicySpec",
    "Progress",
    "Sampler",
    "StopAfter",
    "StopAt",
    "Storage",
    "VTrace",
    "VTraceConfig",
    "gae",
    "n_step_returns",
    "vtrace",
]
