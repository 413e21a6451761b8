# mypy: ignore-errors
"""Kernels that order the rows of constraints."""

from __future__ import annotations

import warp as wp

FIRST_CONTACT_TYPE = wp.constant(5)
"""The smallest type of a row of a contact, ``mjtConstraint``."""


@wp.struct
class Row:
    """A row of the constraints, ``mjData.efc_*``.

    Attributes:
        target: Its index in MuJoCo's order.
        edge: Its index among the rows of its contact, or -1.
    """

    target: int
    edge: int
    type: int
    id: int
    num_nonzero: int
    address: int
    position: float
    margin: float
    mass: float
    velocity: float
    reference: float
    friction: float


@wp.func
def pair_key(geom: wp.vec2i, geom_body: wp.array(dtype=int)) -> wp.int64:
    """A number that orders pairs of geoms by their bodies, then by the geoms."""
    first, second = geom_body[geom[0]], geom_body[geom[1]]
    num_geoms = wp.int64(geom_body.shape[0])
    bodies = wp.int64(wp.min(first, second)) * num_geoms + wp.int64(wp.max(first, second))
    return (bodies * num_geoms + wp.int64(geom[0])) * num_geoms + wp.int64(geom[1])


@wp.kernel(enable_backward=False)
def find_targets(
    geom_body: wp.array(dtype=int), num_rows: wp.array(dtype=int), geoms: wp.array(dtype=wp.vec2i),
    row_addresses: wp.array2d(dtype=int), types: wp.array2d(dtype=int), ids: wp.array2d(dtype=int),
    nonzeros: wp.array2d(dtype=int), addresses: wp.array2d(dtype=int), positions: wp.array2d(dtype=float),
    margins: wp.array2d(dtype=float), masses: wp.array2d(dtype=float), velocities: wp.array2d(dtype=float),
    references: wp.array2d(dtype=float), frictions: wp.array2d(dtype=float),
    # outputs
    rows: wp.array2d(dtype=Row),
):  # fmt: skip
    """Copies of all rows with their index in MuJoCo's order; thread (world, row).

    Rows of contacts follow all others, in the order of their pairs of geoms. Contacts of one pair keep their order.
    """
    world, k = wp.tid()
    count = wp.min(num_rows[world], rows.shape[1])
    if k >= count:
        return
    row = Row()
    row.target = k
    row.edge = -1
    row.type = types[world, k]
    row.id = ids[world, k]
    if nonzeros.shape[1] > 0:
        row.num_nonzero = nonzeros[world, k]
        row.address = addresses[world, k]
    row.position = positions[world, k]
    row.margin = margins[world, k]
    row.mass = masses[world, k]
    row.velocity = velocities[world, k]
    row.reference = references[world, k]
    row.friction = frictions[world, k]
    if row.type >= FIRST_CONTACT_TYPE:
        row.edge = k - row_addresses[row.id, 0]
        row.target = row.edge
        key = pair_key(geoms[row.id], geom_body)
        for i in range(count):
            other = ids[world, i]
            if types[world, i] < FIRST_CONTACT_TYPE:
                row.target += 1
            elif other != row.id:
                other_key = pair_key(geoms[other], geom_body)
                if other_key < key or (other_key == key and other < row.id):
                    row.target += 1
    rows[world, k] = row


@wp.kernel(enable_backward=False)
def move_rows(
    num_rows: wp.array(dtype=int), rows: wp.array2d(dtype=Row), num_blocks: wp.array(dtype=int),
    # outputs
    row_addresses: wp.array2d(dtype=int), types: wp.array2d(dtype=int), ids: wp.array2d(dtype=int),
    nonzeros: wp.array2d(dtype=int), addresses: wp.array2d(dtype=int), positions: wp.array2d(dtype=float),
    margins: wp.array2d(dtype=float), masses: wp.array2d(dtype=float), velocities: wp.array2d(dtype=float),
    references: wp.array2d(dtype=float), frictions: wp.array2d(dtype=float), blocks: wp.array2d(dtype=int),
):  # fmt: skip
    """Write the rows of contacts where they belong, and the first row of each block of rows; thread (world, row)."""
    world, k = wp.tid()
    if blocks.shape[1] > 0 and k < num_blocks[world]:
        blocks[world, k] = rows[world, blocks[world, k]].target
    if k >= wp.min(num_rows[world], rows.shape[1]):
        return
    row = rows[world, k]
    if row.edge < 0:
        return
    target = row.target
    row_addresses[row.id, row.edge] = target
    types[world, target] = row.type
    ids[world, target] = row.id
    if nonzeros.shape[1] > 0:
        nonzeros[world, target] = row.num_nonzero
        addresses[world, target] = row.address
    positions[world, target] = row.position
    margins[world, target] = row.margin
    masses[world, target] = row.mass
    velocities[world, target] = row.velocity
    references[world, target] = row.reference
    frictions[world, target] = row.friction


@wp.kernel(enable_backward=False)
def move_jacobian(
    num_rows: wp.array(dtype=int), rows: wp.array2d(dtype=Row), source: wp.array3d(dtype=float),
    # outputs
    jacobian: wp.array3d(dtype=float),
):  # fmt: skip
    """Write the rows of a dense Jacobian where they belong; thread (world, row, degree of freedom)."""
    world, k, dof = wp.tid()
    if k < wp.min(num_rows[world], rows.shape[1]):
        jacobian[world, rows[world, k].target, dof] = source[world, k, dof]
