"""Refined contacts between capsules and cylinders."""

import numpy as np
import pytest
import warp as wp

from worldloom.robots.warp.cylinder_kernels import refine_cylinders

CAPSULE, CYLINDER = 3, 5
DOWN = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
"""A frame whose normal points from a capsule down to a cylinder."""
TILTED = np.array([[0.0, 0.1, -0.995], [0.0, 0.995, 0.1], [1.0, 0.0, 0.0]])
CENTER = (1.0, 2.0, 3.0)
"""The center of the cylinder, which stands upright, with radius 0.3 and length 0.2."""
Vector = tuple[float, float, float]


def refined(
    position: Vector, distance: float, frame: np.ndarray, capsule: Vector, axis: str = "z", kind: int = CAPSULE
) -> tuple[np.ndarray, float, np.ndarray]:
    """Position, distance and normal of a contact, with positions relative to the cylinder.

    The capsule has radius 0.1, length 1 and a center, and is parallel to an axis.
    """
    shift = np.eye(3)[:, {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}[axis]]
    distances = wp.array([distance], dtype=float, device="cpu")
    positions = wp.array(np.add([position], CENTER), dtype=wp.vec3, device="cpu")
    frames = wp.array([frame], dtype=wp.mat33, device="cpu")
    inputs = [
        wp.array([kind, CYLINDER], dtype=int, device="cpu"),
        wp.array([[(0.1, 0.5, 0.0), (0.3, 0.1, 0.0)]], dtype=wp.vec3, device="cpu"),
        wp.array([[np.add(capsule, CENTER), CENTER]], dtype=wp.vec3, device="cpu"),
        wp.array([[shift, np.eye(3)]], dtype=wp.mat33, device="cpu"),
        wp.array([1], dtype=int, device="cpu"),
        wp.array([(0, 1)], dtype=wp.vec2i, device="cpu"),
        wp.array([0], dtype=int, device="cpu"),
    ]
    wp.launch(refine_cylinders, dim=1, inputs=inputs, outputs=[distances, positions, frames], device="cpu")
    return positions.numpy()[0] - CENTER, float(distances.numpy()[0]), frames.numpy()[0][0]


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["top", "bottom"])
def test_the_position_is_halfway_between_capsule_and_face(side: float) -> None:
    capsule = (0.1, 0.0, side * 0.196)
    position, distance, normal = refined((0.2, 0.0, side * 0.098), -0.006, side * DOWN, capsule, "x")
    assert distance == pytest.approx(-0.004, abs=1e-6)
    assert np.allclose(position, (0.2, 0.0, side * 0.098), atol=1e-6)
    assert np.allclose(normal, side * DOWN[0])


def test_a_capsule_across_the_rim_touches_it_at_its_middle() -> None:
    # The segment x = 0.35, z = 0.15 is closest to the point (0.3, 0, 0.1) of the rim.
    gap = 0.05 * np.sqrt(2.0)
    position, distance, normal = refined((0.301, 0.01, 0.101), -0.0292, TILTED, (0.35, 0.2, 0.15), "y")
    assert distance == pytest.approx(gap - 0.1, abs=1e-6)
    assert np.allclose(normal, np.array([-1.0, 0.0, -1.0]) / np.sqrt(2.0), atol=1e-6)
    middle = np.array([0.3, 0.0, 0.1]) - 0.5 * (gap - 0.1) * normal
    assert np.allclose(position, middle, atol=1e-6)


def test_the_end_of_a_capsule_touches_the_side() -> None:
    # The end x = 0.38 of the segment is closest to the point (0.3, 0, 0.05) of the side.
    position, distance, normal = refined((0.29, 0.0, 0.05), -0.021, TILTED, (0.88, 0.0, 0.05), "x")
    assert distance == pytest.approx(-0.02, abs=1e-6)
    assert np.allclose(position, (0.29, 0.0, 0.05), atol=1e-6)
    assert np.allclose(normal, (-1.0, 0.0, 0.0), atol=1e-6)


@pytest.mark.parametrize(
    ("capsule", "axis", "kind"),
    [((0.35, 0.0, 0.0), "z", CAPSULE), ((0.1, 0.0, 0.0), "x", CAPSULE), ((0.35, 0.2, 0.15), "y", 2)],
    ids=["parallel", "inside", "sphere"],
)
def test_other_contacts_are_not_changed(capsule: Vector, axis: str, kind: int) -> None:
    position, distance, normal = refined((0.3, 0.0, 0.1), -0.01, TILTED, capsule, axis, kind)
    assert distance == pytest.approx(-0.01)
    assert np.allclose(position, (0.3, 0.0, 0.1), atol=1e-6)
    assert np.allclose(normal, TILTED[0])
