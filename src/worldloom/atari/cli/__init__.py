"""Atari's part of the command line: the roms command, the list of games and the ale-py baseline of benchmarks.

May import every other folder of atari, and terminal. worldloom.cli imports it.
"""
