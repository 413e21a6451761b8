"""The infos of a step in Gymnasium's layout, assembled of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from worldloom.vector.env_layout import EnvLayout


class StepInfos:
    """Assembles infos. Values are in the order of the layout's components.

    Args:
        layout: The components of the world.
        same_step: Whether worlds are reset in the step that ends their episode.
        all_worlds_mask: Returns a new mask that is True for all worlds, shape (num_envs,).
    """

    def __init__(self, layout: EnvLayout, same_step: bool, all_worlds_mask: Callable[[], Any]) -> None:
        self._info_keys = [component.key for component in layout.infos]
        self._observation_keys = [component.key for component in layout.observations]
        self._same_step, self._all_worlds_mask = same_step, all_worlds_mask

    def current(self, values: Sequence[Any]) -> dict[str, Any]:
        """The infos of all worlds, with masks; ``values`` are those of the info components."""
        return self._with_masks(values, self._all_worlds_mask()) if self._info_keys else {}

    def final(self, ended: Any, values: Sequence[Any]) -> dict[str, Any]:
        """The last observations and infos of the episodes that ended.

        Args:
            ended: The mask of their worlds, shape (num_envs,).
            values: The final observations, then the final infos.
        """
        keys = self._observation_keys
        return {
            "final_obs": values[0] if len(keys) == 1 else dict(zip(keys, values, strict=False)),
            "_final_obs": ended,
            "final_info": self._with_masks(values[len(keys) :], ended) if self._info_keys else {},
            "_final_info": ended,
        }

    def complete(self, values: Sequence[Any]) -> dict[str, Any]:
        """All infos of a step.

        Args:
            values: The infos; where worlds are reset in the same step, followed by the mask of the worlds whose
                episodes ended, their final observations and their final infos.
        """
        count = len(self._info_keys)
        infos = self.current(values[:count])
        return infos | self.final(values[count], values[count + 1 :]) if self._same_step else infos

    def _with_masks(self, values: Sequence[Any], mask: Any) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for key, value in zip(self._info_keys, values, strict=True):
            infos[key], infos["_" + key] = value, mask
        return infos
