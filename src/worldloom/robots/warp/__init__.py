"""MuJoCo Warp in a world: steps, resets and placements of all worlds on one device."""
