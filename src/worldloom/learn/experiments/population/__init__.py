"""Population-based training: members copy better ones and change their settings. Imports ``search`` and ``jobs``."""
