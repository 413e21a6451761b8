"""EnvPool's package of interface classes: programs import ``envpool.python.protocol`` and ``envpool.python.api``.

Holds names of classes that other modules of ``worldloom.envpool`` define, and nothing else.
"""
