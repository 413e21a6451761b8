"""Worlds as Gymnasium environments: a batch of them as a vector environment, or one alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from worldloom.core.base.arrays import checked_int, to_numpy
from worldloom.core.base.errors import InputError, WorldFault
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime.seeds import MAX_SEED
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.vector.adapters.first_world import first_info, make_selection
from worldloom.vector.checks import (
    AUTORESET_MODES,
    DISCRETE_SPACES,
    NUMERIC_KINDS,
    RENDER_MODES,
    Backend,
    StepResult,
    check_config_names,
    check_render_mode,
    check_reset_mask,
    check_reset_options,
    check_seeds,
    resolve_autoreset,
)
from worldloom.vector.choice_masks import MaskedActions, mask_space
from worldloom.vector.errors import InvalidActionError, NotResetError
from worldloom.vector.render_modes import make_observer
from worldloom.vector.world_attributes import WorldAttributes
from worldloom.vector.world_batch import WorldBatch, resolve_definition

_INTEGERS = (int, np.int64)
"""Types of the actions of one world whose range is checked without Gymnasium's function."""


class WorldVectorEnv(NoShallowCopy, WorldAttributes, MaskedActions, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """``num_envs`` copies of a world as a Gymnasium vector environment.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: Number of copies.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        seed: One seed, or one per world, until ``reset(seed=...)`` sets another; None draws one from the operating
            system.
        autoreset: ``same_step`` (the default), ``next_step`` or ``disabled``, as Gymnasium documents them.
        autoreset_mode: The same under Gymnasium's name, an AutoresetMode.
        threads: CPU threads; None uses every core that has enough work.
        render_mode: ``rgb_array``, ``rgb_array_list``, ``human``, or None.
        backend: ``numpy``, or ``torch`` for tensors on the device.
        copy: Whether results are copies. Without copies the next step overwrites observations, rewards and flags.
        config: Values of the world's configuration.
        gymnasium_types: Whether observations have the types of Gymnasium's spaces, or else those of their columns.
        options: Further arguments of :class:`worldloom.Simulation`, such as ``exact``.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        autoreset: Autoreset | AutoresetMode | None = None,
        autoreset_mode: AutoresetMode | str | None = None,
        threads: int | None = None,
        render_mode: str | None = None,
        backend: Backend = "numpy",
        copy: bool = True,
        config: Mapping[str, Any] | None = None,
        gymnasium_types: bool = True,
        **options: Any,
    ) -> None:
        definition = resolve_definition(world)
        autoreset = resolve_autoreset(autoreset, autoreset_mode, "same_step")
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
            gymnasium_types=gymnasium_types,
            **options,
        )
        self.simulation = self.batch.simulation
        self._spec: EnvSpec | None = None
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": [] if definition.render is None else list(RENDER_MODES),
            "render_fps": definition.frames_per_second,
            "autoreset_mode": AUTORESET_MODES[autoreset],
        }
        self.single_observation_space = self.batch.observation_space
        self.single_action_space = self.batch.layout.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._bind_masks()
        self._ended = np.zeros(num_envs, np.bool_)
        on_host = backend == "numpy" or self.simulation.device.is_cpu
        self._refuses_ended = autoreset == "disabled" and on_host  # on a GPU the check would synchronize
        self._observer = make_observer(render_mode, self.simulation)
        self._seed: int | tuple[int, ...] | None = None
        self._note_seeds(check_seeds(seed, num_envs))

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """Gymnasium's spec, with the step limit of these worlds; without one where their limits differ."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = spec
        if spec is not None:
            limits = set(np.ravel(self.simulation.get_config("max_steps")).tolist())
            spec.max_episode_steps = limits.pop() or None if len(limits) == 1 else None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes in all worlds, or in those of ``options["reset_mask"]``.

        Returns:
            The observations of all worlds, and infos.
        """
        self.batch.check_open()
        mask = check_reset_options(options, ("reset_mask",)).get("reset_mask")
        if mask is not None:
            check_reset_mask(mask)
        if seed is None and mask is None:
            self.batch.start_episodes()
        elif isinstance(seed, (list, tuple)) and None in seed:
            self._reset_with_partial_seeds(
                seed, np.ones(self.num_envs, np.bool_) if mask is None else to_numpy(mask, "a reset mask")
            )
        else:
            seeds = check_seeds(seed, self.num_envs)
            self.simulation.reset(mask, seeds)
            self._note_seeds(seeds, mask)
        if self._refuses_ended:
            self._ended[:] = False if mask is None else self._ended & ~to_numpy(mask, "a reset mask")
        if self._observer is not None:
            self._observer.update()
        return self.batch.observations(), self.batch.infos()

    def _reset_with_partial_seeds(self, seeds: Sequence[int | None], mask: np.ndarray[Any, Any]) -> None:
        """Reset with a list of seeds in which None keeps the world's own random numbers."""
        seeded = np.array([seed is not None for seed in seeds])
        if seeded.shape != mask.shape:
            raise InputError(f"seeds are one per world, {self.num_envs}, not {len(seeds)}")
        values = check_seeds([0 if seed is None else seed for seed in seeds], self.num_envs)
        self.simulation.reset(mask & ~seeded)
        self.simulation.reset(mask & seeded, values)
        self._note_seeds(values, mask & seeded)

    def _note_seeds(self, seeds: np.ndarray[Any, Any] | None, mask: Any = None) -> None:
        """Keep the seeds of a reset, of shape () or (num_envs,), for ``np_random_seed``."""
        if seeds is None:
            return
        self._np_random = None
        if mask is None:
            self._seed = int(seeds) if seeds.ndim == 0 else tuple(map(int, seeds))
            return
        chosen = np.broadcast_to(seeds, self.num_envs).tolist()
        selected = to_numpy(mask, "a reset mask").tolist()
        self._seed = tuple(
            new if reset else old for new, old, reset in zip(chosen, self._world_seeds(), selected, strict=True)
        )

    def _world_seeds(self) -> tuple[int, ...]:
        """The seed of every world; one of 32 bits where it was drawn from the operating system."""
        if isinstance(self._seed, tuple):
            return self._seed
        if self._seed is not None:
            return (self._seed,) * self.num_envs
        self.batch.check_open()
        return tuple(map(int, self.simulation.seeds))

    @property
    def np_random_seed(self) -> Any:
        """The seed of all worlds, or one for each where they differ; ``reset`` with it repeats the episodes."""
        seeds = self._world_seeds() if self._seed is None else self._seed
        return seeds if isinstance(seeds, int) or len(set(seeds)) > 1 else seeds[0]

    @property
    def np_random(self) -> np.random.Generator:
        """A generator with the seed of the worlds, for the caller: worlds draw their own random numbers."""
        if self._np_random is None:
            self._np_random = np.random.default_rng(self.np_random_seed)
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value

    def step(self, actions: Any) -> StepResult:
        """Step every world.

        With same-step autoreset ``infos["final_obs"]`` holds the last observations of the episodes that ended, shape
        (num_envs, ...), and ``infos["_final_obs"]`` masks their rows.
        """
        if self._refuses_ended and self._ended.any():
            raise NotResetError(
                f"world {int(self._ended.argmax())} is over: with autoreset='disabled' reset it first, "
                "reset(options={'reset_mask': mask})"
            )
        batch = self.batch
        batch.step(actions)
        step_result = batch.step_result()
        if self._refuses_ended:
            self._ended = to_numpy(step_result[2] | step_result[3], "the flags")
        if self._observer is not None:
            self._observer.update()
        return step_result

    def errors(self) -> list[WorldFault]:
        """Faults of single worlds since the last call, such as an invalid action; their episodes were truncated."""
        return self.simulation.errors()

    def render(self) -> tuple[Any, ...] | None:
        """One image per world, uint8 of shape (height, width, 3).

        With ``rgb_array_list`` one list per world: its images since the last call, or since its episode began. With
        ``human`` None: every step and reset has been shown.
        """
        self.batch.check_open()
        if self._observer is not None:
            return self._observer.take_frames()
        if self.render_mode is None:
            return None
        return tuple(self.simulation.definition.images(self.simulation, range(self.num_envs)))

    @functools.cached_property
    def _xla(self) -> tuple[Any, Any, Any, Any]:
        from worldloom.vector.adapters.jax import make_xla

        return make_xla(self.batch)

    def xla(self) -> tuple[Any, Any, Any, Any]:
        """``(handle, recv, send, step)`` for compiled JAX programs: see :class:`worldloom.vector.adapters.jax.Xla`."""
        return self._xla

    def close_extras(self, **_: Any) -> None:
        if self._observer is not None:
            self._observer.close()
        self.simulation.close()

    def __enter__(self) -> WorldVectorEnv:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Programs that JAX compiled hold addresses of this batch, and masks refer to its worlds."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_xla", "_choice_masks")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind_masks()


class WorldEnv(NoShallowCopy, gymnasium.Env[Any, Any]):
    """One world as a Gymnasium environment.

    Args:
        world: The id of a registered world, or its definition.
        render_mode: ``rgb_array``, ``rgb_array_list``, ``human``, or None.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        world_offset: The world's index in its seed: k gives the episodes of world k of a batch with the same seed.
        config: Values of the world's configuration.
    """

    _needs_reset = True
    """Whether there was no reset yet, or an episode is over, so that the next step is checked."""

    def __init__(
        self,
        world: str | Definition,
        *,
        render_mode: str | None = None,
        device: str = "cpu",
        world_offset: int = 0,
        **config: Any,
    ) -> None:
        world = resolve_definition(world)
        check_config_names(world, config)
        self._vector = WorldVectorEnv(
            world,
            1,
            device=device,
            autoreset="disabled",
            render_mode=render_mode,
            config=config,
            world_offset=world_offset,
        )
        self._vector._refuses_ended = False  # step checks it, with a message for one world
        self.metadata = self._vector.metadata
        self.render_mode = render_mode
        self.observation_space = self._vector.single_observation_space
        self.action_space = mask_space(self._vector.single_action_space, self._vector._choice_masks)
        self._num_choices = self.action_space.n if isinstance(self.action_space, gymnasium.spaces.Discrete) else 0
        self._select_first = make_selection(self.observation_space)

    @property
    def simulation(self) -> Simulation:
        return self._vector.simulation

    @property
    def action_masks(self) -> Callable[[], np.ndarray[Any, Any]]:
        """A function that returns the allowed choices, bool of shape (choices,), for worlds with an action mask."""
        masks = self._vector.action_masks
        return lambda: masks()[0]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.action_space = mask_space(self.action_space, self._vector._choice_masks)

    @property
    def np_random_seed(self) -> int:
        """The seed of the world."""
        return int(self._vector.np_random_seed) if self._np_random_seed is None else self._np_random_seed

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._vector.batch.check_open()
        check_reset_options(options, ())
        if seed is not None:
            seed = checked_int("seed", seed, 0, MAX_SEED)
        super().reset(seed=seed)
        observations, infos = self._vector.reset(seed=seed)
        for mask in self._vector._choice_masks.values():
            mask.begin_episode()
        self._needs_reset = False
        return self._select_first(observations), first_info(infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._needs_reset:
            self._check_episode()
        if type(action) in _INTEGERS and 0 <= action < self._num_choices:
            batched: Any = np.array((action,))
        elif not self._is_valid(action):
            raise InvalidActionError(f"{action!r} is no action of {self.action_space}")
        elif isinstance(action, Mapping):
            batched = {k: np.asarray(v)[None] for k, v in action.items()}
        else:
            batched = np.asarray(action)[None]
        observations, rewards, terminations, truncations, infos = self._vector.step(batched)
        terminated, truncated = bool(terminations[0]), bool(truncations[0])
        self._needs_reset = terminated or truncated
        return (
            self._select_first(observations),
            float(rewards[0]),
            terminated,
            truncated,
            first_info(infos) if infos else {},
        )

    def _check_episode(self) -> None:
        """Raise NotResetError where no episode has begun, or it is over; a snapshot may have restored another."""
        self._vector.batch.check_open()
        if self.simulation.pristine:
            raise NotResetError("this environment has not been reset yet: call reset() first")
        if self.simulation.world["finished"].numpy()[0]:
            raise NotResetError("the episode of this environment is over: call reset() first")

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
