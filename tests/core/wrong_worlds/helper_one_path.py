"""A helper that returns on one path only."""

import worldloom as wl


@wl.function
def positive(n: int):  # WRONG: a helper must return a value on every path
    if n > 0:
        return n
