"""The command line: one file per command, whose settings are a dataclass."""
