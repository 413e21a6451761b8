"""Geometry of contacts: closest points, separating axes, clipping, and the manifolds of pairs of shapes."""
