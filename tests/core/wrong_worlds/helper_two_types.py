"""A helper that returns two types."""

import worldloom as wl


@wl.function
def half(n: int):
    if n > 0:
        return n
    return 0.5  # WRONG: wrong type: what it returned before is int, but the value is float
