"""Trainings of an experiment as jobs: in this process, in worker processes, or on a Ray cluster. Imports ``runs``."""
