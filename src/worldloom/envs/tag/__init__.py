"""Tag, on a grid and on a plane: rules, observations, rendering and training defaults; imports ``core`` only."""
