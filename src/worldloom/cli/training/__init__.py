"""Support for a training run in a terminal: the live panel, the stop on a signal, the run's curve and video.

Imports terminal, learn, view and core, and no command.
"""
