"""A helper whose parameter has no type."""

import worldloom as wl


@wl.function
def twice(n):  # WRONG: parameter 'n' has no component type
    return 2 * n
