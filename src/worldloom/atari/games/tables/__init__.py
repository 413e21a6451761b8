"""Text tables of games, modes, multiplayer variants and reward rules. Data only."""
