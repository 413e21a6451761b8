"""One file per command: a dataclass of flags with a run method.

May import cli.parsing, cli.training and every package below cli, but not cli.main.
"""
