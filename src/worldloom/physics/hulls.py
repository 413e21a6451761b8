"""Convex hulls of up to 8 points, computed on the host as rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from worldloom.core.base.errors import InputError
from worldloom.physics.shapes import MAX_EDGES, MAX_FACES, MAX_VERTICES, pack_edge, pack_face

TOLERANCE = 1e-6  # relative to the extent of the points

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HullTable:
    """Rows of convex hulls, as array configurations of a ``physics.World``.

    Attributes:
        vertices: (hulls, 24) float32, relative to the centre of mass.
        faces: (hulls, 12) int32, packed as in ``physics.shapes``.
        edges: (hulls, 18) int32, packed as in ``physics.shapes``.
        counts: (hulls, 3) int32, vertices, faces and edge directions.
        volume: (hulls,) float32, m³.
        inertia: (hulls, 9) float32, of a body of 1 kg, kg m².
        centre: (hulls, 3) float32, the centre of mass in the frame of the given points.
    """

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.int32]
    edges: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    volume: npt.NDArray[np.float32]
    inertia: npt.NDArray[np.float32]
    centre: npt.NDArray[np.float32]


def hull_table(*hulls: Sequence[Sequence[float]] | npt.NDArray[Any]) -> HullTable:
    """The table of convex hulls; each is given by its 4 to 8 vertices, shape (n, 3)."""
    rows = [_hull_row(np.asarray(points, np.float64)) for points in hulls]
    columns = [np.stack(column) for column in zip(*rows, strict=True)]
    types = (np.float32, np.int32, np.int32, np.int32, np.float32, np.float32, np.float32)
    return HullTable(*(column.astype(dtype) for column, dtype in zip(columns, types, strict=True)))


def _hull_row(points: Array) -> tuple[Any, ...]:
    if points.ndim != 2 or points.shape[1] != 3 or not 4 <= len(points) <= MAX_VERTICES:
        raise InputError(f"a hull has 4 to {MAX_VERTICES} vertices of shape (n, 3), not {points.shape}: remove some")
    faces = _faces(points)
    used = {index for face in faces for index in face}
    if len(used) < len(points):
        unused = sorted(set(range(len(points))) - used)
        raise InputError(f"points {unused} are no vertices of the convex hull: remove them")
    volume, centre, inertia = _mass_properties(points, faces)
    edges = _edge_directions(points, faces)
    vertices = np.zeros(3 * MAX_VERTICES)
    vertices[: points.size] = (points - centre).ravel()
    packed_faces = np.zeros(MAX_FACES)
    packed_faces[: len(faces)] = [pack_face(*face) for face in faces]
    packed_edges = np.zeros(MAX_EDGES)
    packed_edges[: len(edges)] = [pack_edge(*edge) for edge in edges]
    counts = np.array([len(points), len(faces), len(edges)])
    return vertices, packed_faces, packed_edges, counts, np.array(volume), inertia.ravel(), centre


def _faces(points: Array) -> list[list[int]]:
    """Vertex numbers of each face, counter-clockwise from outside, in the order of their first triple."""
    extent = float(np.ptp(points, axis=0).max())
    faces: dict[tuple[int, ...], list[int]] = {}
    for triple in combinations(range(len(points)), 3):
        a, b, c = points[list(triple)]
        normal = np.cross(b - a, c - a)
        length = np.linalg.norm(normal)
        if length < TOLERANCE * extent**2:
            continue
        normal /= length
        heights = (points - a) @ normal
        if heights.max() > TOLERANCE * extent:
            normal, heights = -normal, -heights
        if heights.max() > TOLERANCE * extent:
            continue
        members = [int(i) for i in np.flatnonzero(heights > -TOLERANCE * extent)]
        faces.setdefault(tuple(members), _counter_clockwise(points, members, normal))
    if len(faces) < 4:
        raise InputError("the points of a hull lie in a plane: give it a volume")
    return list(faces.values())


def _counter_clockwise(points: Array, members: list[int], normal: Array) -> list[int]:
    centre = points[members].mean(axis=0)
    first = points[members[0]] - centre
    second = np.cross(normal, first)
    angles = [np.arctan2((points[i] - centre) @ second, (points[i] - centre) @ first) for i in members]
    return [members[i] for i in np.argsort(angles, kind="stable")]


def _edge_directions(points: Array, faces: list[list[int]]) -> list[tuple[int, int]]:
    """One edge for each set of parallel edges."""
    edges: list[tuple[int, int]] = []
    directions: list[Array] = []
    for face in faces:
        for a, b in zip(face, face[1:] + face[:1], strict=True):
            direction = (points[b] - points[a]) / np.linalg.norm(points[b] - points[a])
            if all(np.linalg.norm(np.cross(direction, other)) > TOLERANCE for other in directions):
                edges.append((a, b))
                directions.append(direction)
    return edges


def _mass_properties(points: Array, faces: list[list[int]]) -> tuple[float, Array, Array]:
    """Volume, centre of mass and the inertia of 1 kg about it, by tetrahedra from the first point."""
    origin = points[0]
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for face in faces:
        for i in range(1, len(face) - 1):
            corners = points[[face[0], face[i], face[i + 1]]] - origin
            part = float(np.linalg.det(corners)) / 6.0
            total = corners.sum(axis=0)
            volume += part
            first += part * total / 4.0
            second += part * (corners.T @ corners + np.outer(total, total)) / 20.0
    centre = first / volume
    covariance = second / volume - np.outer(centre, centre)
    return volume, origin + centre, np.trace(covariance) * np.eye(3) - covariance
