"""A helper that calls itself."""

import worldloom as wl


@wl.function
def factorial(n: int):
    if n < 2:
        return 1
    return n * factorial(n - 1)  # WRONG: recursion: 'factorial' calls itself
