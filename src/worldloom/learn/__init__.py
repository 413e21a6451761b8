"""Learning: algorithms that train policies in worlds without leaving the device, and the parts they are made of.

``PPO("CartPole-v1", PPOConfig()).learn(1_000_000)`` is all it takes. The parts work alone in loops of one's own: :class:`Sampler` draws
actions, :func:`gae`, :func:`n_step_returns` and :func:`vtrace` say how good they were, and :class:`Storage` keeps them.
"""

from worldloom.learn.a2c import A2C, A2CConfig
from worldloom.learn.advantages import gae, n_step_returns
from worldloom.learn.callbacks import Callback, StopAfter, StopAt
from worldloom.learn.dqn import DQN, DQNConfig
from worldloom.learn.learner import Team
from worldloom.learn.policy import Policy
from worldloom.learn.policy_config import PolicyConfig
from worldloom.learn.ppo import PPO, PPOConfig
from worldloom.learn.progress import Progress
from worldloom.learn.sampler import Sampler
from worldloom.learn.spec import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.storage import Storage
from worldloom.learn.vtrace import VTrace, VTraceConfig
from worldloom.learn.vtrace_targets import vtrace

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
    "PolicySpec",
    "Progress",
    "Sampler",
    "StopAfter",
    "StopAt",
    "Storage",
    "Team",
    "VTrace",
    "VTraceConfig",
    "gae",
    "n_step_returns",
    "vtrace",
]
