"""The loop of all algorithms: the Trainer base class, callbacks, progress, the optimizer, the divergence check, and the
checked loading of saved tensors.

Imports ``agents``, ``config``, ``device``, ``distributed``, and ``play`` for evaluations.
"""
