"""A default of another type."""

import worldloom as wl


class Ball(wl.Entity):
    hits: int = 0.5  # WRONG: 'hits' is of type int, which cannot hold 0.5
