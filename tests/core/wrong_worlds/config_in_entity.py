"""A configuration in an entity."""

import worldloom as wl


class Ball(wl.Entity):
    width: wl.Config = 2.0  # WRONG: 'width' is configuration, which belongs to the world
