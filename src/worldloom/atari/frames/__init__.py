"""From frames to observations: television standards, palettes, resizing and the observation kernel.

May import native and games.
"""
