"""Encoding of a frame's inputs: what is added to the players' actions."""

RESET, SELECT = 32, 64
"""Console switches, added to the action of player A."""
BEGIN = 128
"""Added to the action of player A: the reward rules start before this frame. Earlier frames are boot frames."""
WARM_UP = 128
"""Added to the action of player B: the frame is emulated even if the reward rules report the game as over."""
PADDLE_STEP = 23_000
"""Resistance by which a paddle turns in a frame; the same constant as in ``native/machine/common.h``."""
