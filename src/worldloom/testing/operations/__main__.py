"""``python -m worldloom.testing.operations``; processes that it starts cannot import this module."""

import sys

import tyro

from worldloom.testing.operations.command import Operations

if __name__ == "__main__":
    sys.exit(tyro.cli(Operations, config=(tyro.conf.FlagCreatePairsOff,)).run())
