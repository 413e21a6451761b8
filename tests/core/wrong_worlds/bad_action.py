"""An action that is no space."""

import worldloom as wl


class Ball(wl.Entity):
    push: wl.Action(2)  # WRONG: Action takes wl.Discrete, wl.MultiDiscrete or wl.Box
