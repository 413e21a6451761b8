"""Several trainings as one experiment: seeds, their statistics, and worker processes. Imports ``runs``."""
