"""Calls in systems, by what is called. It imports names, values, bounds and shared loops of the frontend."""
