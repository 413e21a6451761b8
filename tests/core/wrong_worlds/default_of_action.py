"""An action with a default."""

import worldloom as wl


class Ball(wl.Entity):
    push: wl.Action(wl.Discrete(2)) = 1  # WRONG: component 'push' is an action, which takes no default
