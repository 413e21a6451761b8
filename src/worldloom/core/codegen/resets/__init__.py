"""Resets on a GPU: lists of the worlds that begin an episode, and observations of the others beside them."""
