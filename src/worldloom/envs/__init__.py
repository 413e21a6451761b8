"""The worlds that come with worldloom, one file each; importing this package registers them."""

from worldloom.envs import cartpole

__all__ = ["cartpole"]
