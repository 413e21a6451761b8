"""A name that the engine keeps."""

import worldloom as wl


class Ball(wl.Entity):
    id: int  # WRONG: 'id' is a name reserved for the engine
