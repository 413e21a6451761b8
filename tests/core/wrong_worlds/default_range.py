"""A default that does not fit."""

import worldloom as wl


class Ball(wl.Entity):
    small: wl.uint8 = 300  # WRONG: 'small' is of type uint8, which cannot hold 300
