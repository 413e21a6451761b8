"""The Atari 2600 as a world: the console, its cartridges and its games."""
