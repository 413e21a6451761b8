"""Several trainings as one experiment: seeds, sweeps, populations, and the processes they run in. Imports ``runs``."""
