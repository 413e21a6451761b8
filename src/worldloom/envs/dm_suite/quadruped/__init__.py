"""The quadruped: its tasks, and the observations that they share."""
