"""Tools that make simulations of their own: the comparison of devices. Imports all of core."""
