"""The intersection of two quadrilaterals against clipping in float64, and its reduction to four points."""

from __future__ import annotations

import numpy as np
from thorough import THOROUGH

from worldloom.physics.geometry.quads import Incident, Reference, clip_quads, reduce_candidates


def clipped(polygon: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The part of a polygon, shape (n, 3), above a convex polygon of shape (4, 2), by Sutherland and Hodgman."""
    for m in range(len(reference)):
        start, side = reference[m], reference[(m + 1) % len(reference)] - reference[m]
        heights = [side[0] * (p[1] - start[1]) - side[1] * (p[0] - start[0]) for p in polygon]
        kept = []
        for i, here in enumerate(polygon):
            j = (i + 1) % len(polygon)
            if heights[i] >= 0.0:
                kept.append(here)
            if heights[i] * heights[j] < 0.0:
                kept.append(here + (polygon[j] - here) * (heights[i] / (heights[i] - heights[j])))
        polygon = np.array(kept)
        if not len(polygon):
            return np.zeros((0, 3))
    return polygon


def quadrilateral(generator: np.random.Generator, centre: np.ndarray, triangle: bool) -> np.ndarray:
    """Vertices on a circle about ``centre``, counter-clockwise; a triangle has its last vertex twice."""
    gaps = generator.uniform(0.3, 1.0, 4)
    angles = generator.uniform(0.0, 6.0) + 2.0 * np.pi * np.cumsum(gaps) / gaps.sum()
    points = centre + generator.uniform(0.5, 1.5) * np.stack([np.cos(angles), np.sin(angles)], 1)
    return points[[0, 1, 2, 2]] if triangle else points


def test_candidates_are_the_vertices_of_the_intersection() -> None:
    generator = np.random.default_rng(0)
    sizes = []
    for case in range(60 if THOROUGH else 20):
        reference = quadrilateral(generator, np.zeros(2), case % 5 == 1)
        base = quadrilateral(generator, generator.uniform(-1.2, 1.2, 2), case % 7 == 2)
        slope = generator.uniform(-0.3, 0.3, 3)
        incident = np.column_stack([base, base @ slope[:2] + slope[2]])
        candidates, found = clip_quads(Reference(*reference.ravel()), Incident(*incident.ravel()))
        points = np.array(candidates).reshape(12, 3)[[bool(found >> i & 1) for i in range(12)]]
        expected = clipped(incident.astype(np.float64), reference)
        sizes.append(len(expected))
        assert (len(points) > 0) == (len(expected) > 0)
        for one, other in ((points, expected), (expected, points)):
            for point in one:
                assert np.abs(other - point).max(1).min() < 1e-4, (case, point)
    assert max(sizes) >= 6 and min(sizes) == 0


def test_the_four_points_are_the_lowest_and_the_outermost() -> None:
    reference = Reference(-1, -1, 1, -1, 1, 1, -1, 1)
    incident = Incident(-2, -2, -0.1, 2, -2, 0.1, 2, 2, 0.1, -2, 2, -0.1)
    candidates, found = clip_quads(reference, incident)
    points, heights, count = reduce_candidates(candidates, found, 0.2)
    corners = np.array(points).reshape(4, 3)
    assert count == 4 and {tuple(np.sign(c[:2])) for c in corners} == {(-1, -1), (1, -1), (1, 1), (-1, 1)}
    np.testing.assert_allclose(heights, corners[:, 2])
    np.testing.assert_allclose(corners[:, 2], 0.05 * corners[:, 0], atol=1e-6)
    assert corners[0, 2] == corners[:, 2].min()
    *_, below = reduce_candidates(candidates, found, 0.0)
    assert below == 2  # the two corners below the plane
    *_, none = reduce_candidates(candidates, found, -0.2)
    assert none == 0
