"""The system that names settings of a world with which a step has no meaning."""

from typing import Any

import worldloom as wl


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

    return refuse_settings
