"""Escape Room: two agents press buttons and move cubes to open three doors; rules, observations and training."""
