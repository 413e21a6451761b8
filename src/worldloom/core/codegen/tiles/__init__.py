"""Tiles: sequences of systems that one kernel runs, a few worlds per block, with barriers in between."""
