"""From display events to pixels (rasterizer) and from pixels to observations (observe, resize)."""
