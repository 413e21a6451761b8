"""Typed expressions: conversions, components of rows, operators, and the visitor of expressions above them.

It imports names, values, bounds and calls of the frontend. Statements are built on it.
"""
