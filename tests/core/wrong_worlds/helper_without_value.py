"""A helper that returns nothing."""

import worldloom as wl


@wl.function
def next_one(n: int):  # WRONG: a helper must return a value on every path
    m = n + 1
