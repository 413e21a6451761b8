"""Worlds as Gymnasium environments: a batch of them as a vector environment, or one alone."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.base.arrays import checked_int, to_numpy
from worldloom.core.base.errors import InputError, WorldFault
from worldloom.core.base.not_copyable import NotCopyable
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.vector.checks import (
    AUTORESET_MODES,
    DISCRETE_SPACES,
    NUMERIC_KINDS,
    StepResult,
    check_render_mode,
    check_reset_options,
    check_seeds,
)
from worldloom.vector.world_batch import Backend, WorldBatch, resolve_definition


class WorldVectorEnv(NotCopyable, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """``num_envs`` copies of a world as a Gymnasium vector environment.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: Number of copies.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        seed: One seed, or one per world, until ``reset(seed=...)`` sets another; None draws one from the operating
            system.
        autoreset: ``same_step``, ``next_step`` or ``disabled``, as Gymnasium documents them.
        threads: CPU threads; None uses every core that has enough work.
        render_mode: ``rgb_array``, or None.
        backend: ``numpy``, or ``torch`` for tensors on the device.
        copy: Whether results are copies. Without copies the next step overwrites observations, rewards and flags.
        config: Values of the world's configuration.
        options: Further arguments of :class:`worldloom.Simulation`, such as ``exact``.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        autoreset: Autoreset = "same_step",
        threads: int | None = None,
        render_mode: str | None = None,
        backend: Backend = "numpy",
        copy: bool = True,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        definition = resolve_definition(world)
        check_render_mode(render_mode, definition)
        self.batch = WorldBatch.create(
            definition,
            num_envs,
            device,
            seed=seed,
            autoreset=autoreset,
            threads=threads,
            backend=backend,
            copy=copy,
            config=config,
            **options,
        )
        self.simulation = self.batch.simulation
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": [] if definition.render is None else ["rgb_array"],
            "render_fps": definition.frames_per_second,
            "autoreset_mode": AUTORESET_MODES[autoreset],
        }
        self.single_observation_space = self.batch.layout.observation_space
        self.single_action_space = self.batch.layout.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes in all worlds, or in those of ``options["reset_mask"]``.

        Returns:
            The observations of all worlds, and infos.
        """
        mask = check_reset_options(options, ("reset_mask",)).get("reset_mask")
        if seed is None and mask is None:
            self.batch.start_episodes()
        elif isinstance(seed, (list, tuple)) and None in seed:
            self._reset_with_partial_seeds(
                seed, np.ones(self.num_envs, np.bool_) if mask is None else to_numpy(mask, "a reset mask")
            )
        else:
            self.simulation.reset(mask, check_seeds(seed, self.num_envs))
        self._ended[:] = False if mask is None else self._ended & ~to_numpy(mask, "a reset mask")
        return self.batch.observations(), self.batch.infos()

    def _reset_with_partial_seeds(self, seeds: Sequence[int | None], mask: np.ndarray[Any, Any]) -> None:
        """Reset with a list of seeds in which None keeps the world's own random numbers."""
        seeded = np.array([seed is not None for seed in seeds])
        if seeded.shape != mask.shape:
            raise InputError(f"seeds are one per world, {self.num_envs}, not {len(seeds)}")
        values = check_seeds([0 if seed is None else seed for seed in seeds], self.num_envs)
        self.simulation.reset(mask & ~seeded)
        self.simulation.reset(mask & seeded, values)

    def step(self, actions: Any) -> StepResult:
        """Step every world.

        With same-step autoreset ``infos["final_obs"]`` holds the last observations of the episodes that ended, shape
        (num_envs, ...), and ``infos["_final_obs"]`` masks their rows.
        """
        disabled = self.simulation.autoreset == "disabled" and (
            self.batch.backend == "numpy" or self.simulation.device.is_cpu
        )
        if disabled and self._ended.any():
            raise InputError(
                f"world {int(self._ended.argmax())} is over: with autoreset='disabled' reset it first, "
                "reset(options={'reset_mask': mask})"
            )
        self.batch.step(actions)
        step_result = self.batch.step_result()
        if disabled:
            self._ended = to_numpy(step_result[2] | step_result[3], "the flags")
        return step_result

    def errors(self) -> list[WorldFault]:
        """Faults of single worlds since the last call, such as an invalid action; their episodes were truncated."""
        return self.simulation.errors()

    def render(self) -> tuple[Any, ...] | None:
        """One image per world, uint8 of shape (height, width, 3)."""
        definition = self.simulation.definition
        if self.render_mode is None or definition.render is None:
            return None
        return tuple(definition.images(self.simulation, range(self.num_envs)))

    @functools.cached_property
    def _xla(self) -> tuple[Any, Any, Any, Any]:
        from worldloom.vector.adapters.jax import make_xla

        return make_xla(self.batch)

    def xla(self) -> tuple[Any, Any, Any, Any]:
        """``(handle, recv, send, step)`` for compiled JAX programs: see :class:`worldloom.vector.adapters.jax.Xla`."""
        return self._xla

    def close_extras(self, **_: Any) -> None:
        self.simulation.close()


class WorldEnv(NotCopyable, gymnasium.Env[Any, Any]):
    """One world as a Gymnasium environment.

    Args:
        world: The id of a registered world, or its definition.
        render_mode: ``rgb_array``, or None.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        world_offset: The world's index in its seed: k gives the episodes of world k of a batch with the same seed.
        config: Values of the world's configuration.
    """

    def __init__(
        self,
        world: str | Definition,
        *,
        render_mode: str | None = None,
        device: str = "cpu",
        world_offset: int = 0,
        **config: Any,
    ) -> None:
        self._vector = WorldVectorEnv(
            world,
            1,
            device=device,
            autoreset="disabled",
            render_mode=render_mode,
            config=config,
            world_offset=world_offset,
        )
        self.metadata = self._vector.metadata
        self.render_mode = render_mode
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    @property
    def simulation(self) -> Simulation:
        return self._vector.simulation

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        check_reset_options(options, ())
        if seed is not None:
            seed = checked_int("seed", seed, 0, 2**63 - 1)
        super().reset(seed=seed)
        observations, infos = self._vector.reset(seed=seed)
        return _first_world(observations, self.observation_space), _first_info(infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self._is_valid(action):
            raise InputError(f"{action!r} is no action of {self.action_space}")
        self._vector._ended[:] = False  # like Gymnasium, a single world may be stepped beyond its end
        batched = (
            {k: np.asarray(v)[None] for k, v in action.items()}
            if isinstance(action, Mapping)
            else np.asarray(action)[None]
        )
        observations, rewards, terminations, truncations, infos = self._vector.step(batched)
        return (
            _first_world(observations, self.observation_space),
            float(rewards[0]),
            bool(terminations[0]),
            bool(truncations[0]),
            _first_info(infos),
        )

    def _is_valid(self, action: Any) -> bool:
        """Whether a discrete action is in its space, and any other action holds numbers."""
        if isinstance(self.action_space, DISCRETE_SPACES):
            return self.action_space.contains(action)
        values = action.values() if isinstance(action, Mapping) else [action]
        return all(to_numpy(value, "the action").dtype.kind in NUMERIC_KINDS for value in values)

    def render(self) -> Any:
        frames = self._vector.render()
        return None if frames is None else frames[0]

    def close(self) -> None:
        self._vector.close()


def _first_world(observations: Any, space: gymnasium.Space[Any]) -> Any:
    """The observation of the first world, in the type of ``space``."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: _first_world(observations[key], subspace) for key, subspace in space.items()}
    return np.int64(observations[0]) if isinstance(space, gymnasium.spaces.Discrete) else np.asarray(observations[0])


def _first_info(infos: dict[str, Any]) -> dict[str, Any]:
    return {k: v[0] for k, v in infos.items() if not k.startswith("_")}
