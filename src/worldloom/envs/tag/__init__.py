"""Tag: taggers chase runners, on a grid and on a plane."""

from worldloom.envs.tag import continuous

__all__ = ["continuous"]
