"""Volume and inertia of shapes against sums over random points in float64."""

import numpy as np
import pytest
from physics_scenes import HULL_POINTS, HULLS, BodySpec, Thing, simulate
from scipy.spatial import ConvexHull, Delaunay

from worldloom import physics

SIZE = (0.4, 0.7, 0.3)
SAMPLES = 1_000_000


def contains(shape, points, hull):
    """Which points lie in a shape, in its body frame."""
    x, y, z = np.moveaxis(points, -1, 0)
    a, b, c = SIZE
    if shape == physics.SPHERE:
        return x * x + y * y + z * z < a * a
    if shape == physics.CAPSULE:
        return x * x + y * y + (z - np.clip(z, -b, b)) ** 2 < a * a
    if shape == physics.BOX:
        return (abs(x) < a) & (abs(y) < b) & (abs(z) < c)
    if shape == physics.WEDGE:
        inside = (abs(x) < a) & (y < 2 / 3 * b) & (z > -2 / 3 * c)
        return inside & ((z + 2 / 3 * c) / (2 * c) < (y + 4 / 3 * b) / (2 * b))
    return Delaunay(HULL_POINTS[hull] - HULLS.centre[hull]).find_simplex(points) >= 0


def bounds(shape, hull):
    """Half extents of a box about the origin that contains a shape."""
    a, b, c = SIZE
    if shape == physics.HULL:
        return np.abs(HULL_POINTS[hull] - HULLS.centre[hull]).max(axis=0)
    boxes = {physics.SPHERE: (a, a, a), physics.CAPSULE: (a, a, a + b), physics.BOX: SIZE}
    return np.array(boxes.get(shape, (a, 4 / 3 * b, 4 / 3 * c)))


CASES = [(shape, 0) for shape in (physics.SPHERE, physics.CAPSULE, physics.BOX, physics.WEDGE)]
CASES += [(physics.HULL, row) for row in range(len(HULL_POINTS))]


@pytest.mark.parametrize(("shape", "hull"), CASES)
def test_mass_and_inertia_follow_from_shape_and_density(shape, hull):
    sim = simulate([BodySpec(shape, SIZE, hull=hull, density=500.0)])
    sim.step()
    mass, inertia = sim[Thing].mass.numpy()[0, 0], sim[Thing].inertia.numpy()[0, 0]
    half = bounds(shape, hull)
    points = np.random.default_rng(0).uniform(-half, half, (SAMPLES, 3))
    points = points[contains(shape, points, hull)]
    second = points.T @ points / len(points)
    assert np.abs(points.mean(axis=0)).max() < 0.01  # the origin is the centre of mass
    assert mass == pytest.approx(500.0 * np.prod(2.0 * half) * len(points) / SAMPLES, rel=0.01)
    assert inertia / mass == pytest.approx(np.trace(second) * np.eye(3) - second, abs=0.01 * np.trace(second))


def test_hull_tables_have_the_volume_and_faces_of_the_hull():
    for row, points in enumerate(HULL_POINTS):
        exact = ConvexHull(points)
        assert HULLS.volume[row] == pytest.approx(exact.volume, rel=1e-6)
        faces = np.unique(exact.equations.round(6), axis=0)
        assert HULLS.counts[row, 1] == len(faces)
    assert HULLS.counts[0].tolist() == [8, 6, 3]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((9, 3)), "4 to 8 vertices"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "lie in a plane"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]], r"points \[4\] are no vertices"),
    ],
)
def test_wrong_hulls_are_rejected(points, message):
    with pytest.raises(ValueError, match=message):
        physics.hull_table(points)
