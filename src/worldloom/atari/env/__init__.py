"""The reinforcement-learning environment: settings, ids, game selection, start states, episode rules and definition.

May import every other folder of atari except cli.
"""
