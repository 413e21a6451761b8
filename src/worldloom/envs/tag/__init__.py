"""Tag: taggers chase runners, over the cells of a grid or over a plane."""

from worldloom.envs.tag import continuous, grid

__all__ = ["continuous", "grid"]
