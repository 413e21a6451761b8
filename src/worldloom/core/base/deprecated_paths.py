"""Old module paths: for one release they import the module that replaced them, with a DeprecationWarning."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REMOVED_IN = "0.2.0"
"""The release that no longer has the old paths."""

MOVED_MODULES: Mapping[str, Mapping[str, str]] = {
    "worldloom.atari": {
        "console": "worldloom.atari.emulator.emulator_batch",
        "palettes": "worldloom.atari.frames.palettes",
        "roms": "worldloom.atari.cartridges.roms",
        "settings": "worldloom.atari.env.settings",
        "television": "worldloom.atari.frames.television",
        "world": "worldloom.atari.env.world",
    },
    "worldloom.core": {
        "canvas": "worldloom.core.model.canvas",
        "compare": "worldloom.core.tools.compare",
        "device": "worldloom.core.base.device",
        "entity": "worldloom.core.model.entity",
        "errors": "worldloom.core.base.errors",
        "fields": "worldloom.core.model.fields",
        "launch": "worldloom.core.model.launch",
        "math": "worldloom.core.arithmetic.functions",
        "population": "worldloom.core.model.population",
        "replay_log": "worldloom.core.state.replay_log",
        "snapshot": "worldloom.core.state.snapshot",
        "spaces": "worldloom.core.model.spaces",
        "system": "worldloom.core.frontend.system",
    },
    "worldloom.learn": {
        "a2c": "worldloom.learn.algorithms.a2c",
        "actors": "worldloom.learn.play.actors",
        "advantages": "worldloom.learn.losses.advantages",
        "callbacks": "worldloom.learn.training.callbacks",
        "checkpoints": "worldloom.learn.runs.checkpoints",
        "defaults": "worldloom.learn.config.tuned_defaults",
        "dqn": "worldloom.learn.algorithms.dqn",
        "evaluate": "worldloom.learn.play.evaluation",
        "launch_ray": "worldloom.learn.runs.ray_training",
        "normalize": "worldloom.learn.networks.normalization",
        "optimizer": "worldloom.learn.training.optimizer",
        "policy": "worldloom.learn.networks.policy",
        "policy_config": "worldloom.learn.config.policy_config",
        "ppo": "worldloom.learn.algorithms.ppo",
        "priorities": "worldloom.learn.rollout.prioritized_replay",
        "progress": "worldloom.learn.training.progress",
        "ranks": "worldloom.learn.distributed.ranks",
        "recorder": "worldloom.learn.runs.run_recorder",
        "replay": "worldloom.learn.rollout.replay_buffer",
        "run_folder": "worldloom.learn.runs.run_folder",
        "seats": "worldloom.learn.agents.agent_group",
        "storage": "worldloom.learn.rollout.storage",
        "trainer": "worldloom.learn.training.trainer",
        "vtrace": "worldloom.learn.algorithms.vtrace",
    },
    "worldloom.vector": {
        "batch": "worldloom.vector.world_batch",
        "dm": "worldloom.vector.adapters.dm_env",
        "gymnasium": "worldloom.vector.adapters.gymnasium",
        "jax": "worldloom.vector.adapters.jax",
        "pettingzoo": "worldloom.vector.adapters.pettingzoo",
        "pool": "worldloom.vector.world_pool",
        "rl_games": "worldloom.vector.adapters.rl_games",
        "rsl_rl": "worldloom.vector.adapters.rsl_rl",
        "skrl": "worldloom.vector.adapters.skrl",
        "stable_baselines3": "worldloom.vector.adapters.stable_baselines3",
        "torchrl": "worldloom.vector.adapters.torchrl",
    },
    "worldloom.view": {"economy": "worldloom.envs.covid.figures"},
}
"""The new paths of modules, by their old package and their old name."""

RENAMED: Mapping[str, Mapping[str, str]] = {
    "worldloom.learn.actors": {"seated": "make_actors", "Trained": "TrainedPolicy"},
    "worldloom.learn.defaults": {"tuned": "tuned_config", "known": "has_tuned_config"},
    "worldloom.learn.evaluate": {"Acts": "Actor", "Match": "EvaluationResult"},
    "worldloom.learn.ranks": {"join": "join_process_group", "leave": "leave_process_group"},
    "worldloom.learn.recorder": {"Recorder": "RunRecorder"},
    "worldloom.learn.replay": {"Batch": "TransitionBatch", "Replay": "ReplayBuffer"},
    "worldloom.learn.seats": {"Member": "AgentSlice", "Seats": "AgentGroup", "acting_kinds": "agent_counts"},
    "worldloom.learn.storage": {"Batch": "RolloutBatch"},
    "worldloom.vector.batch": {"Batch": "WorldBatch", "Outcome": "StepResult"},
}
"""The new names of functions and classes, by the old path of their module."""


def new_path(path: str) -> str | None:
    """The path that replaced the module ``path``; None where it was not moved."""
    package, _, name = path.rpartition(".")
    return MOVED_MODULES.get(package, {}).get(name)


def install() -> None:
    """Make the old paths importable. Modules that exist under an old path are not affected."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def forward_names(package: str, module: str, *names: str, **renamed: str) -> Callable[[str], object]:
    """A ``__getattr__`` for a package that took the path of a module: it forwards the module's names, with a warning.

    Args:
        package: The path of the package, which was the module's.
        module: The new path of the module.
        names: Functions, classes and constants of the module.
        renamed: New names of others, by their old names.
    """
    new_names = {**{name: name for name in names}, **renamed}

    def getattr_of_package(name: str) -> object:
        if name not in new_names:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        new = new_names[name]
        _warn(f"{package}.{name}", f"{module}.{new}", stacklevel=3)
        value: object = getattr(importlib.import_module(module), new)
        return value

    return getattr_of_package


class _Finder(MetaPathFinder):
    """Finds the modules of :data:`MOVED_MODULES`. It comes last, so that it is used for missing modules only."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        new = new_path(name)
        return None if new is None else ModuleSpec(name, _MovedLoader(new))


class _MovedLoader(Loader):
    """Loads the new module in place of the old one."""

    def __init__(self, new: str) -> None:
        self.new = new

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        renamed = RENAMED.get(old)
        names = ", ".join(f"{name} is {new}" for name, new in (renamed or {}).items())
        _warn(old, self.new, stacklevel=3, names=names)
        target = importlib.import_module(self.new)
        if renamed is None:
            sys.modules[old] = target
        else:
            sys.modules[old] = _RenamedNames(old, target, renamed)
            sys.modules[old].__spec__ = module.__spec__


class _RenamedNames(ModuleType):
    """A module under its old path: the names of ``target``, and those that were renamed under their old names too."""

    def __init__(self, old: str, target: ModuleType, renamed: Mapping[str, str]) -> None:
        super().__init__(old, target.__doc__)
        self._target, self._renamed = target, renamed
        public = getattr(target, "__all__", [name for name in vars(target) if not name.startswith("_")])
        self.__all__ = [*public, *renamed]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, self._renamed.get(name, name))

    def __dir__(self) -> list[str]:
        return [*dir(self._target), *self._renamed]


def _warn(old: str, new: str, stacklevel: int, names: str = "") -> None:
    text = f"'{old}' is now '{new}'{names and f', where {names}'}; the old path works until worldloom {REMOVED_IN}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)
