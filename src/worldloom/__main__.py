"""``python -m worldloom``: the same as ``worldloom``, which lets launchers such as ``torchrun`` start it."""

from worldloom.cli.entry_point import run

run()
