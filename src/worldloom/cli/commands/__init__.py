"""One file per command, whose flags are a dataclass with a run method. May import cli.parsing, cli.training and everything below cli; never cli.main."""
