"""The Atari 2600: consoles as worlds, many thousands at once."""
