"""``python -m worldloom.cli``: the same as ``worldloom``, for when the command is not on the path."""

from worldloom.cli.entry_point import run

run()
