"""Worlds as a wrapped environment of skrl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition
from worldloom.core.schedule.schedule import Autoreset
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    from skrl.envs.wrappers.torch import Wrapper
    from skrl.utils.spaces.torch import flatten_tensorized_space, tensorize_space, unflatten_tensorized_space
except ImportError as missing:
    raise InputError("worlds for skrl need its package: pip install 'skrl>=2'") from missing

DISCRETE_SPACES = (gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete)


class SkrlVectorEnv(Wrapper):  # type: ignore[misc]
    """A batch of worlds, as tensors on their device; observations are flat, shape (num_envs, n).

    Worlds that ended start anew in the same step, and skrl takes the first observation of the new episode for the one that follows
    the last step. That is harmless where the episode came to its end. Where it was cut off, and ``time_limit_bootstrap`` is on, use
    ``autoreset="next_step"``: what follows is then the last observation of the old episode, and the step after it is lost to the reset.
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
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if autoreset == "disabled":
            raise InputError("skrl resets no world by itself: give autoreset='same_step' or 'next_step'")
        env = WorldVectorEnv(
            world,
            num_envs,
            device=device,
            seed=seed,
            autoreset=autoreset,
            threads=threads,
            render_mode=render_mode,
            backend="torch",
            config=config,
        )
        super().__init__(env)
        self._worlds = env
        self._numeric_observation_space = _binaries_as_box(env.single_observation_space)
        self._device = env.batch.terminations().device
        self._has_reset = False

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one world's observation, with truth values as numbers from 0 to 1, since skrl knows no others."""
        return self._numeric_observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The space of one world's action."""
        return self._worlds.single_action_space

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Start the first episodes. From then on the worlds reset themselves, and this gives what they show."""
        if self._has_reset:
            return self._flatten_observations(self._worlds.batch.observations()), self._worlds.batch.infos()
        self._has_reset = True
        observations, infos = self._worlds.reset()
        return self._flatten_observations(observations), infos

    def step(
        self, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Take one step in every world; rewards and flags have the shape (num_envs, 1)."""
        taken = unflatten_tensorized_space(self.action_space, actions)
        if isinstance(self.action_space, gymnasium.spaces.Dict):  # one tensor held choices and real numbers
            taken = {
                key: value.long() if isinstance(self.action_space[key], DISCRETE_SPACES) else value
                for key, value in taken.items()
            }
        observations, rewards, terminations, truncations, infos = self._worlds.step(taken)
        return (
            self._flatten_observations(observations),
            rewards.unsqueeze(-1),
            terminations.unsqueeze(-1),
            truncations.unsqueeze(-1),
            infos,
        )

    def _flatten_observations(self, observations: Any) -> torch.Tensor:
        flat: torch.Tensor = flatten_tensorized_space(
            tensorize_space(self.observation_space, observations, device=self.device)
        )
        return flat.float() if flat.dtype == torch.bool else flat

    def state(self) -> torch.Tensor | None:
        """Worlds have no state apart from their observations."""
        return None

    def render(self, *_: Any, **__: Any) -> Any:
        return self._worlds.render()

    def close(self) -> None:
        self._worlds.close()


def _binaries_as_box(space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    if isinstance(space, gymnasium.spaces.Dict):
        return gymnasium.spaces.Dict({key: _binaries_as_box(part) for key, part in space.items()})
    return gymnasium.spaces.Box(0.0, 1.0, space.shape) if isinstance(space, gymnasium.spaces.MultiBinary) else space
