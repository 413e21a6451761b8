"""A name that the engine keeps for worlds."""

import worldloom as wl


class Table(wl.World):
    step: int  # WRONG: 'step' is a name reserved for the engine
