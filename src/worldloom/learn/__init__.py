"""Learning: algorithms that train policies in worlds on the device, and their parts for custom training loops.

``PPO("CartPole-v1", PPOConfig()).learn(1_000_000)`` trains a policy. For loops of your own, :class:`Sampler` draws
actions, :func:`gae`, :func:`n_step_returns` and :func:`vtrace` compute targets, and :class:`Storage` holds rollouts.

Imports core, envs and atari. The folders, from the lowest: config, device, distributed and agents, then actions,
networks, rollout, losses, play, training, opponents, native and tracking, algorithms, runs, export
and experiments.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldloom.learn.actions.sampler import Sampler
    from worldloom.learn.agents.agent_group import AgentGroup, AgentSlice
    from worldloom.learn.agents.policy_groups import PolicyGroup
    from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
    from worldloom.learn.algorithms.a2c import A2C, A2CConfig
    from worldloom.learn.algorithms.dqn import DQN, DQNConfig
    from worldloom.learn.algorithms.extension import Extension, NewSteps
    from worldloom.learn.algorithms.ppo import PPO, PPOConfig
    from worldloom.learn.algorithms.registry import algorithm, register_algorithm
    from worldloom.learn.algorithms.sac import SAC, SACConfig
    from worldloom.learn.algorithms.td3 import TD3, TD3Config
    from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
    from worldloom.learn.config.opponent_pool import OpponentPool
    from worldloom.learn.config.piecewise_linear import PiecewiseLinear
    from worldloom.learn.config.policy_config import PolicyConfig
    from worldloom.learn.config.serialization import config_from_dict, config_to_dict
    from worldloom.learn.config.train_config import RolloutConfig, TrainConfig
    from worldloom.learn.config.tuned_defaults import tuned_config
    from worldloom.learn.distributed.ranks import Ranks, join_process_group, leave_process_group
    from worldloom.learn.experiments.population.member_result import MemberResult
    from worldloom.learn.experiments.population.population_folder import PopulationFolder, PopulationPlan
    from worldloom.learn.experiments.population.population_run import train_population
    from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, SweepPlan
    from worldloom.learn.experiments.sweep.sweep_run import sweep
    from worldloom.learn.experiments.sweep.trial_result import TrialResult
    from worldloom.learn.export.export_policy import ExportedPolicy, export_policies, export_policy, export_run
    from worldloom.learn.losses.advantages import gae, n_step_returns
    from worldloom.learn.losses.vtrace_targets import vtrace
    from worldloom.learn.networks.custom.protocols import PolicyModule, RecurrentPolicyModule
    from worldloom.learn.networks.fused.layers import FusedLayers
    from worldloom.learn.networks.normalization import ObservationNormalizer, RewardScaler, RunningMoments
    from worldloom.learn.networks.policy import Policy
    from worldloom.learn.networks.q_network import QNetwork
    from worldloom.learn.opponents.saved_policy import SavedPolicy
    from worldloom.learn.play.actors import Actor, PolicyActor, QActor, make_actors
    from worldloom.learn.play.evaluation import Evaluation, EvaluationResult, evaluate
    from worldloom.learn.play.frames import record_frames
    from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
    from worldloom.learn.rollout.replay_buffer import ReplayBuffer
    from worldloom.learn.rollout.storage import Storage
    from worldloom.learn.runs.checkpoints import Checkpoints
    from worldloom.learn.runs.cross_play import CrossPlay, MeanReturn, cross_play
    from worldloom.learn.runs.pretrained import pretrained, pretrained_worlds
    from worldloom.learn.runs.ray_training import train_with_ray
    from worldloom.learn.runs.run_folder import RunFolder, read_config, read_metrics
    from worldloom.learn.runs.run_recorder import RunRecorder
    from worldloom.learn.runs.saved_policies import load_policy
    from worldloom.learn.runs.saved_run import SavedRun, open_run
    from worldloom.learn.runs.training_request import TrainingRequest
    from worldloom.learn.runs.training_run import TrainingResult, run_training
    from worldloom.learn.tracking.mlflow_callback import MlflowCallback
    from worldloom.learn.tracking.wandb_callback import WandbCallback
    from worldloom.learn.training.callbacks import Callback, StopAfter, StopAt
    from worldloom.learn.training.divergence_check import DivergedError
    from worldloom.learn.training.progress import METRICS, Progress
    from worldloom.learn.training.trainer import Trainer
    from worldloom.learn.training.world_identity import ChangedWorldError

    Team = PolicyGroup

_MODULES = {
    "actions.sampler": ("Sampler",),
    "agents.agent_group": ("AgentGroup", "AgentSlice"),
    "agents.policy_groups": ("PolicyGroup",),
    "agents.specs": ("ActionSpec", "ObservationSpec", "PolicySpec"),
    "algorithms.a2c": ("A2C", "A2CConfig"),
    "algorithms.dqn": ("DQN", "DQNConfig"),
    "algorithms.extension": ("Extension", "NewSteps"),
    "algorithms.ppo": ("PPO", "PPOConfig"),
    "algorithms.registry": ("algorithm", "register_algorithm"),
    "algorithms.sac": ("SAC", "SACConfig"),
    "algorithms.td3": ("TD3", "TD3Config"),
    "algorithms.vtrace": ("VTrace", "VTraceConfig"),
    "config.opponent_pool": ("OpponentPool",),
    "config.piecewise_linear": ("PiecewiseLinear",),
    "config.policy_config": ("PolicyConfig",),
    "config.serialization": ("config_from_dict", "config_to_dict"),
    "config.train_config": ("RolloutConfig", "TrainConfig"),
    "config.tuned_defaults": ("tuned_config",),
    "distributed.ranks": ("Ranks", "join_process_group", "leave_process_group"),
    "experiments.population.member_result": ("MemberResult",),
    "experiments.population.population_folder": ("PopulationFolder", "PopulationPlan"),
    "experiments.population.population_run": ("train_population",),
    "experiments.sweep.sweep_folder": ("SweepFolder", "SweepPlan"),
    "experiments.sweep.sweep_run": ("sweep",),
    "experiments.sweep.trial_result": ("TrialResult",),
    "export.export_policy": ("ExportedPolicy", "export_policies", "export_policy", "export_run"),
    "losses.advantages": ("gae", "n_step_returns"),
    "losses.vtrace_targets": ("vtrace",),
    "networks.custom.protocols": ("PolicyModule", "RecurrentPolicyModule"),
    "networks.fused.layers": ("FusedLayers",),
    "networks.normalization": ("ObservationNormalizer", "RewardScaler", "RunningMoments"),
    "networks.policy": ("Policy",),
    "networks.q_network": ("QNetwork",),
    "opponents.saved_policy": ("SavedPolicy",),
    "play.actors": ("Actor", "PolicyActor", "QActor", "make_actors"),
    "runs.cross_play": ("CrossPlay", "MeanReturn", "cross_play"),
    "play.evaluation": ("Evaluation", "EvaluationResult", "evaluate"),
    "play.frames": ("record_frames",),
    "runs.saved_run": ("SavedRun", "open_run"),
    "rollout.prioritized_replay": ("ReplayPriorities",),
    "rollout.replay_buffer": ("ReplayBuffer",),
    "rollout.storage": ("Storage",),
    "runs.checkpoints": ("Checkpoints",),
    "runs.pretrained": ("pretrained", "pretrained_worlds"),
    "runs.ray_training": ("train_with_ray",),
    "runs.run_folder": ("RunFolder", "read_config", "read_metrics"),
    "runs.run_recorder": ("RunRecorder",),
    "runs.saved_policies": ("load_policy",),
    "runs.training_request": ("TrainingRequest",),
    "runs.training_run": ("TrainingResult", "run_training"),
    "tracking.mlflow_callback": ("MlflowCallback",),
    "tracking.wandb_callback": ("WandbCallback",),
    "training.callbacks": ("Callback", "StopAfter", "StopAt"),
    "training.divergence_check": ("DivergedError",),
    "training.progress": ("METRICS", "Progress"),
    "training.trainer": ("Trainer",),
    "training.world_identity": ("ChangedWorldError",),
}
"""The public names by the module that defines them. Modules are imported on first use."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
_OLD_NAMES = {"Team": "PolicyGroup"}
"""Names of an earlier release, importable for one more with a DeprecationWarning."""

__all__ = [
    "A2C",
    "DQN",
    "METRICS",
    "PPO",
    "SAC",
    "TD3",
    "A2CConfig",
    "ActionSpec",
    "Actor",
    "AgentGroup",
    "AgentSlice",
    "Callback",
    "ChangedWorldError",
    "Checkpoints",
    "CrossPlay",
    "DQNConfig",
    "DivergedError",
    "Evaluation",
    "EvaluationResult",
    "ExportedPolicy",
    "Extension",
    "FusedLayers",
    "MeanReturn",
    "MemberResult",
    "MlflowCallback",
    "NewSteps",
    "ObservationNormalizer",
    "ObservationSpec",
    "OpponentPool",
    "PPOConfig",
    "PiecewiseLinear",
    "Policy",
    "PolicyActor",
    "PolicyConfig",
    "PolicyGroup",
    "PolicyModule",
    "PolicySpec",
    "PopulationFolder",
    "PopulationPlan",
    "Progress",
    "QActor",
    "QNetwork",
    "Ranks",
    "RecurrentPolicyModule",
    "ReplayBuffer",
    "ReplayPriorities",
    "RewardScaler",
    "RolloutConfig",
    "RunFolder",
    "RunRecorder",
    "RunningMoments",
    "SACConfig",
    "Sampler",
    "SavedPolicy",
    "SavedRun",
    "StopAfter",
    "StopAt",
    "Storage",
    "SweepFolder",
    "SweepPlan",
    "TD3Config",
    "TrainConfig",
    "Trainer",
    "TrainingRequest",
    "TrainingResult",
    "TrialResult",
    "VTrace",
    "VTraceConfig",
    "WandbCallback",
    "algorithm",
    "config_from_dict",
    "config_to_dict",
    "cross_play",
    "evaluate",
    "export_policies",
    "export_policy",
    "export_run",
    "gae",
    "join_process_group",
    "leave_process_group",
    "load_policy",
    "make_actors",
    "n_step_returns",
    "open_run",
    "pretrained",
    "pretrained_worlds",
    "read_config",
    "read_metrics",
    "record_frames",
    "register_algorithm",
    "run_training",
    "sweep",
    "train_population",
    "train_with_ray",
    "tuned_config",
    "vtrace",
]


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name in _OLD_NAMES:
            new = _OLD_NAMES[name]
            warnings.warn(
                f"worldloom.learn.{name} is now called {new}; the old name works until the next release",
                DeprecationWarning,
                stacklevel=2,
            )
            return __getattr__(new)
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'worldloom.learn' has no attribute '{name}'")
        value = getattr(importlib.import_module(f"worldloom.learn.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
