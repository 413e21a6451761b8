"""A default that its own guard refuses."""

import math

import worldloom as wl


class Ball(wl.Entity):
    x: wl.Finite(float) = math.nan  # WRONG: component 'x' must stay finite, but its default is nan
