"""A component of a type that no column holds."""

import worldloom as wl


class Ball(wl.Entity):
    name: str  # WRONG: component 'name' has the annotation <class 'str'>, which is no component type
