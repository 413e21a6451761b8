"""What checked code is written as: kernel text for Warp, or Python for the interpreter."""
