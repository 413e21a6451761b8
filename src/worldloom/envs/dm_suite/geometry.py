# Annotations are evaluated: they are types of the language of systems.
"""Functions of vectors that systems of several tasks use."""

import worldloom as wl


@wl.function
def distance(x: wl.float64, y: wl.float64, z: wl.float64) -> wl.float64:
    """The length of a vector."""
    return wl.sqrt(x * x + y * y + z * z)
