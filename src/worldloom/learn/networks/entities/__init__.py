"""Attention networks for sets of entities."""
