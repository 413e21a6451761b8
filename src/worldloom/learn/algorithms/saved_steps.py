"""Checked loading of the stored steps of a policy from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from worldloom.learn.rollout.storage import Storage
from worldloom.learn.training.restore_checks import load_checked, require_choices


def load_steps(
    whose: str, storage: Storage, own: Mapping[str, torch.Tensor], saved: Mapping[str, torch.Tensor]
) -> None:
    """Copy ``saved`` into the tensors of a storage; InputError where no training saved them.

    Args:
        whose: What was saved, for error messages.
        storage: The storage.
        own: Its tensors to restore, by name.
        saved: The saved tensors, by name.
    """
    load_checked(whose, own, saved, {"first": (0, storage.steps - 1), "final_steps": (-1, storage.steps - 1)})
    if "actions" in own:
        require_choices(f"'actions' in the saved {whose}", storage.actions, storage.spec.action.sizes)
