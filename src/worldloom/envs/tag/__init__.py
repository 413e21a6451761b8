"""Tag: taggers chase runners, on a grid and on a plane."""

from worldloom.envs.tag import continuous, grid

__all__ = ["continuous", "grid"]
