"""Rays and overlaps of shapes, and queries of a world that systems make."""
