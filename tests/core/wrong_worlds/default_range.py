"""A default that does not fit."""

import worldloom as wl


class Ball(wl.Entity):
    small: wl.uint8 = 300  # WRONG: (overflow|cannot hold 300)
