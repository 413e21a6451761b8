"""What a world declares: spaces, component types, entities, populations, grids, pairs and launches. It imports base."""
