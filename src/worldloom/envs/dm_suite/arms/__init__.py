"""Domains with a planar arm and a hand: the manipulator and the stacker."""
