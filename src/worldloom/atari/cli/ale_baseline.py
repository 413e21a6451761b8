"""Gymnasium's vector environments of ale-py, as a baseline of benchmarks."""

from __future__ import annotations

import importlib
from typing import Any

from worldloom.atari.games.game_table import ALE
from worldloom.core.base.errors import InputError


def make_ale_vector(gymnasium: Any, env: str, num_worlds: int, mode: str) -> Any:
    """A vector environment of ale-py with the observations of the Atari world ``env``.

    Args:
        gymnasium: The imported package.
        env: Id of the world: ``ALE/Pong-v5`` has Gymnasium's observations, ``Pong-v5`` those of EnvPool.
        num_worlds: Number of environments.
        mode: Gymnasium's vectorization mode; ``vector_entry_point`` is ale-py's own vector environment.
    """
    gymnasium.register_envs(importlib.import_module("ale_py"))
    own_vector = mode == "vector_entry_point"
    if env.startswith(ALE):
        if own_vector:
            raise InputError(
                "ale-py's vector environment has EnvPool's observations: "
                f"measure {env.removeprefix(ALE)} against it, or {env} against gymnasium-sync"
            )
        return gymnasium.make_vec(env, num_envs=num_worlds, vectorization_mode=mode)
    if own_vector:  # its observations are EnvPool's: grey, 84 x 84
        return gymnasium.make_vec(ALE + env, num_envs=num_worlds, vectorization_mode=mode)
    return gymnasium.make_vec(
        ALE + env,
        num_envs=num_worlds,
        vectorization_mode=mode,
        wrappers=[_with_envpool_observations],
        frameskip=1,
        repeat_action_probability=0.0,
    )


def _with_envpool_observations(env: Any) -> Any:
    """Wrap a game of Gymnasium so that its observations are EnvPool's: four grey frames of 84 x 84, frame skip 4."""
    wrappers = importlib.import_module("gymnasium.wrappers")
    return wrappers.FrameStackObservation(
        wrappers.AtariPreprocessing(env, noop_max=30, frame_skip=4, screen_size=84), 4
    )
