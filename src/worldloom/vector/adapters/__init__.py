"""One module per library that worlds are adapted to, named after that library, and the base class that they share.

Imports core, ``vector.checks``, ``vector.env_layout``, ``vector.world_batch`` and the library. An adapter imports no
pool, and no other adapter but ``gymnasium``; those of worlds with several agents import ``pettingzoo``.
"""
