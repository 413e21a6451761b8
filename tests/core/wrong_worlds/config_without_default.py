"""A configuration without a value."""

import worldloom as wl


class Table(wl.World):
    width: wl.Config  # WRONG: configuration 'width' needs a default value
