"""Tag, on a grid and in the open."""

from worldloom.envs.tag import grid

__all__ = ["grid"]
