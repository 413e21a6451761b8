"""Worlds as an environment of TorchRL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

try:
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical, TensorSpec, Unbounded
    from torchrl.envs import EnvBase
except ImportError as missing:
    raise InputError("worlds for TorchRL need its package: pip install 'torchrl>=0.11'") from missing


class TorchRLVectorEnv(EnvBase):  # type: ignore[misc]
    """A batch of worlds with ``batch_size`` (num_envs,), on the device of the worlds.

    TorchRL resets worlds itself, by the ``"_reset"`` mask; nothing is reset behind its back, so ``("next", "observation")`` of an
    episode's last step is what that episode showed last. A single observation component is called ``"observation"`` and a single
    action component ``"action"``; where there are several, each keeps its own name. Choices are categories, not one-hot vectors.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        env = WorldVectorEnv(
            world,
            num_envs,
            device=device,
            seed=seed,
            autoreset="disabled",
            threads=threads,
            backend="torch",
            config=config,
        )
        batch, layout = env.batch, env.batch.layout
        super().__init__(device=batch.terminations().device, batch_size=torch.Size([num_envs]))
        self._worlds = env
        self._observation_names = {
            leaf.key: leaf.key if len(layout.observations) > 1 else "observation" for leaf in layout.observations
        }
        self._action_names = {leaf.key: leaf.key if len(layout.actions) > 1 else "action" for leaf in layout.actions}
        shown = self._with_torchrl_names(batch.observations())
        self.observation_spec = self._composite(
            {
                self._observation_names[leaf.key]: self._spec(
                    leaf.space, shown[self._observation_names[leaf.key]].dtype
                )
                for leaf in layout.observations
            }
        )
        self.full_action_spec = self._composite(
            {self._action_names[leaf.key]: self._spec(leaf.space) for leaf in layout.actions}
        )
        self.reward_spec = Unbounded((num_envs, 1), device=self.device, dtype=torch.float32)
        flags = ("done", "terminated", "truncated")
        self.full_done_spec = self._composite(
            {flag: Categorical(2, (num_envs, 1), device=self.device, dtype=torch.bool) for flag in flags}
        )

    @property
    def worlds(self) -> WorldVectorEnv:
        """The worlds as a Gymnasium vector environment of tensors."""
        return self._worlds

    def _composite(self, specs: dict[str, Any]) -> Any:
        return Composite(specs, shape=self.batch_size, device=self.device)

    def _spec(self, space: gymnasium.Space[Any], dtype: torch.dtype = torch.int64) -> TensorSpec:
        """The spec of a batch of values of ``space``; ``dtype`` is that of choices."""
        shape = torch.Size([*self.batch_size, *(space.shape or ())])
        if isinstance(space, gymnasium.spaces.Discrete):
            return Categorical(int(space.n), shape, device=self.device, dtype=dtype)
        if isinstance(space, gymnasium.spaces.MultiDiscrete):
            if (space.nvec == space.nvec.flat[0]).all():
                return Categorical(int(space.nvec.flat[0]), shape, device=self.device, dtype=dtype)
            return MultiCategorical(
                space.nvec.reshape(-1, shape[-1])[0].tolist(), shape, device=self.device, dtype=dtype
            )  # the same for every entity
        if isinstance(space, gymnasium.spaces.MultiBinary):
            return Binary(shape[-1], shape, device=self.device, dtype=torch.bool)
        assert isinstance(space, gymnasium.spaces.Box)
        kind = torch.from_numpy(np.empty(0, space.dtype)).dtype
        if not space.is_bounded():
            return Unbounded(shape, device=self.device, dtype=kind)
        low, high = (
            torch.from_numpy(np.broadcast_to(bound, shape).copy()).to(self.device) for bound in (space.low, space.high)
        )
        return Bounded(low, high, shape, device=self.device, dtype=kind)

    def _with_torchrl_names(self, observations: Any) -> dict[str, torch.Tensor]:
        """Observations under TorchRL's names."""
        if not isinstance(observations, Mapping):
            return {"observation": observations}
        return {self._observation_names[key]: value for key, value in observations.items()}

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        observations, _ = self._worlds.reset(
            options=None if mask is None else {"reset_mask": mask.reshape(self.batch_size)}
        )
        return TensorDict(self._with_torchrl_names(observations), self.batch_size, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions: Any = {key: tensordict.get(name) for key, name in self._action_names.items()}
        observations, rewards, terminations, truncations, _ = self._worlds.step(
            next(iter(actions.values())) if len(actions) == 1 else actions
        )
        ends = {"terminated": terminations, "truncated": truncations, "done": terminations | truncations}
        columns = {"reward": rewards, **ends}
        return TensorDict(
            {**self._with_torchrl_names(observations), **{k: v.unsqueeze(-1) for k, v in columns.items()}},
            self.batch_size,
            device=self.device,
        )

    def _set_seed(self, seed: int | None) -> None:
        if seed is not None:
            self._worlds.reset(seed=seed)

    def close(self, *, raise_if_closed: bool = True) -> None:
        super().close(raise_if_closed=raise_if_closed)
        self._worlds.close()
