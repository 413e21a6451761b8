"""Sweeps: trainings with settings that a sampler proposes, stopped early where they fall behind. Imports ``search``."""
