"""From network outputs to actions: distributions, the sampler and its kernels, epsilon-greedy exploration.

Imports ``config``, ``device`` and ``agents``.
"""
