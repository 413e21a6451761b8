"""An array without elements."""

import worldloom as wl


class Ball(wl.Entity):
    cards: wl.Array(int, 0)  # WRONG: Array takes one to three whole numbers of 1 or more
