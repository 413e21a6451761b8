"""What a world says about its settings: faults of those with which a step has no meaning, and warnings."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

import worldloom as wl

FREQUENCIES = ("contact_frequency", "joint_frequency")
SUBSTEP_SHARE = 0.25  # of the rate of substeps, the highest frequency of a spring


def frequency_warning(names: Collection[str], values: Callable[[str], np.ndarray[Any, Any]]) -> str | None:
    """The warning of a frequency above SUBSTEP_SHARE of the rate of substeps.

    Args:
        names: of the configurations that were set.
        values: gives a configuration.
    """
    warnings = []
    for spring in FREQUENCIES if {"dt", "substeps"} & set(names) else [name for name in FREQUENCIES if name in names]:
        frequency, dt, substeps = np.broadcast_arrays(values(spring), values("dt"), values("substeps"))
        limit = SUBSTEP_SHARE * substeps / np.maximum(dt, 1e-30)
        over = (frequency > limit * 1.0001) & (dt > 0.0) & (substeps > 0)
        if over.any():
            world = int(over.argmax())
            needed = int(np.ceil(frequency[world] * dt[world] / SUBSTEP_SHARE - 1e-3))
            warnings.append(
                f"{spring} is {frequency[world]:g} Hz and acts as {limit[world]:g} Hz, a quarter of the rate of "
                f"substeps; give it {needed} substeps instead of {substeps[world]}, or a lower frequency"
            )
    return ". ".join(warnings) or None


def settings_system(World: type) -> Any:
    """The system over the world; each setting that it rejects is a fault."""

    @wl.system
    def refuse_settings(world: World):
        if not world.dt > 0.0:
            world.fail("dt must be positive", 0)
        if world.substeps < 1:
            world.fail("substeps is {value}: it must be 1 or more", world.substeps)
        if world.sweeps < 1:
            world.fail("sweeps is {value}: it must be 1 or more", world.sweeps)
        if not world.margin >= 0.0:
            world.fail("margin must be 0 or more", 0)
        if not world.max_depth >= 0.0:
            world.fail("max_depth must be 0 or more", 0)

    return refuse_settings
