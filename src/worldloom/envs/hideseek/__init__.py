"""HideSeek: hiders and seekers with boxes and ramps that they push, grab and lock, on rigid-body physics."""
