"""Pictures of worlds and of runs: curves and videos."""
