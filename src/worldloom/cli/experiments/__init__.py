"""Commands of several trainings: sweeps and population-based training. Imports ``commands`` and ``training``."""
