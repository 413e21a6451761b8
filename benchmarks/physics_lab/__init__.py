"""Scenes of rigid bodies with a known outcome: one world whose scene is configuration, and what to measure in it."""
