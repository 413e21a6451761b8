"""Trained policies without learning: actors, evaluation, and frames for videos.

Imports ``networks``, ``actions`` and what is below.
"""
