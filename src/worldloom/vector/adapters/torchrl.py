"""Worlds as an environment of TorchRL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.adapters.base import VectorAdapter
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.env_layout import EnvComponent, combine_values

try:
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical, TensorSpec, Unbounded
    from torchrl.envs import EnvBase
except ImportError as missing:
    raise InputError("worlds for TorchRL need its package: pip install 'torchrl>=0.11'") from missing


class TorchRLVectorEnv(VectorAdapter, EnvBase):  # type: ignore[misc]
    """A batch of worlds with ``batch_size`` (num_envs,), on the device of the worlds.

    TorchRL resets worlds itself, with the ``"_reset"`` mask, so autoreset is disabled: ``("next", "observation")`` of
    an episode's last step is its last observation. A single observation component is called ``"observation"`` and a
    single action component ``"action"``; several components keep their own names. Discrete values are categorical,
    not one-hot.

    Args: As for :class:`worldloom.vector.adapters.base.VectorAdapter`.
    """

    AUTORESET: ClassVar[Autoreset] = "disabled"

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        batch, layout = worlds.batch, worlds.batch.layout
        EnvBase.__init__(self, device=batch.terminations().device, batch_size=torch.Size([worlds.num_envs]))
        self._observation_names = _torchrl_names(layout.observations, "observation")
        self._action_names = _torchrl_names(layout.actions, "action")
        observations = self._with_torchrl_names(batch.observations())
        observation_specs = {}
        for component in layout.observations:
            name = self._observation_names[component.key]
            observation_specs[name] = self._spec(component.space, observations[name].dtype)
        self.observation_spec = self._composite(observation_specs)
        self.full_action_spec = self._composite(
            {self._action_names[component.key]: self._spec(component.space) for component in layout.actions}
        )
        shape = (worlds.num_envs, 1)
        self.reward_spec = Unbounded(shape, device=self.device, dtype=torch.float32)
        flags = ("done", "terminated", "truncated")
        self.full_done_spec = self._composite(
            {flag: Categorical(2, shape, device=self.device, dtype=torch.bool) for flag in flags}
        )

    def _composite(self, specs: dict[str, Any]) -> Any:
        return Composite(specs, shape=self.batch_size, device=self.device)

    def _spec(self, space: gymnasium.Space[Any], dtype: torch.dtype = torch.int64) -> TensorSpec:
        """The spec of a batch of values of ``space``; ``dtype`` is the type of discrete values."""
        shape = torch.Size([*self.batch_size, *(space.shape or ())])
        if isinstance(space, gymnasium.spaces.Discrete):
            return Categorical(int(space.n), shape, device=self.device, dtype=dtype)
        if isinstance(space, gymnasium.spaces.MultiDiscrete):
            if (space.nvec == space.nvec.flat[0]).all():
                return Categorical(int(space.nvec.flat[0]), shape, device=self.device, dtype=dtype)
            choices = space.nvec.reshape(-1, shape[-1])[0].tolist()  # the same for every entity
            return MultiCategorical(choices, shape, device=self.device, dtype=dtype)
        if isinstance(space, gymnasium.spaces.MultiBinary):
            return Binary(shape[-1], shape, device=self.device, dtype=torch.bool)
        assert isinstance(space, gymnasium.spaces.Box)
        box_dtype = torch.from_numpy(np.empty(0, space.dtype)).dtype
        if not space.is_bounded():
            return Unbounded(shape, device=self.device, dtype=box_dtype)
        low, high = (
            torch.from_numpy(np.broadcast_to(bound, shape).copy()).to(self.device) for bound in (space.low, space.high)
        )
        return Bounded(low, high, shape, device=self.device, dtype=box_dtype)

    def _with_torchrl_names(self, observations: Any) -> dict[str, torch.Tensor]:
        """Observations under TorchRL's names."""
        if not isinstance(observations, Mapping):
            return {"observation": observations}
        return {self._observation_names[key]: value for key, value in observations.items()}

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        observations, _ = self.worlds.reset(
            options=None if mask is None else {"reset_mask": mask.reshape(self.batch_size)}
        )
        return TensorDict(self._with_torchrl_names(observations), self.batch_size, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions = combine_values({key: tensordict.get(name) for key, name in self._action_names.items()})
        observations, rewards, terminations, truncations, _ = self.worlds.step(actions)
        flags = {"terminated": terminations, "truncated": truncations, "done": terminations | truncations}
        columns = {"reward": rewards, **flags}
        return TensorDict(
            {**self._with_torchrl_names(observations), **{k: v.unsqueeze(-1) for k, v in columns.items()}},
            self.batch_size,
            device=self.device,
        )

    def _set_seed(self, seed: int | None) -> None:
        if seed is not None:
            self.worlds.reset(seed=seed)

    def close(self, *, raise_if_closed: bool = True) -> None:
        EnvBase.close(self, raise_if_closed=raise_if_closed)
        self.worlds.close()


def _torchrl_names(components: list[EnvComponent], single: str) -> dict[str, str]:
    """TorchRL's name of each component: ``single`` for the only one, else its own key."""
    return {component.key: component.key if len(components) > 1 else single for component in components}
