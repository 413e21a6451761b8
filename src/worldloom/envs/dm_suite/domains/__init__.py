"""Domains of one module each."""
