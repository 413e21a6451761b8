"""Joints of two bodies: their frames, the passes that solve them and their systems."""
