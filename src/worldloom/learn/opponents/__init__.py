"""Opponents: policies of earlier runs that act without learning, and pools of a policy's own past selves with ratings.

A saved policy is data: the settings and tensors of one policy. A pool holds snapshots of a policy in training. Its past
selves act in a part of the worlds, are drawn by recency or rating, and are rated by Elo. Everything is on the device,
so that CUDA graphs stay valid: weights are copied in place between two replays.

Imports ``agents``, ``networks``, ``actions``, ``rollout`` and ``training``; ``algorithms`` imports it.
"""
