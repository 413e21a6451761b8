"""Trained policies without learning: actors, evaluation, frames for videos, and opening a saved run.

The top folder; nothing else in learn imports it.
"""
