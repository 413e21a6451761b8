"""``worldloom bench step|systems|start``, the baselines it compares with, and its plot.

Imports terminal, view, vector and core, and ``atari.cli`` for the baseline ale-py.
"""
