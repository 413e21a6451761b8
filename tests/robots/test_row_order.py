"""Rows of contacts in MuJoCo's order, from any order in which MuJoCo Warp adds them."""

from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

from worldloom import robots
from worldloom.robots.warp.row_order import RowOrder, needs_order

CPU = wp.get_device("cpu")
GEOM_BODIES = (0, 0, 1, 1, 2)
PAIRS = ((0, 4), (2, 1), (0, 2), (3, 4), (0, 2))
"""The geoms of each contact. Its bodies are (0, 2), (0, 1), (0, 1), (1, 2) and (0, 1)."""
ORDER = (2, 4, 1, 0, 3)
"""Contacts by their bodies, their geoms and their index."""
NUM_EDGES = (4, 1, 2, 1, 2)
NUM_LIMITS, NUM_ROWS, NUM_DOFS = 2, 12, 3
FRICTIONLESS, PYRAMIDAL, LIMIT = 5, 6, 3


def integers(values: np.ndarray) -> wp.array:
    return wp.array(values, dtype=int, device=CPU)


def make_rows(added: tuple[int, ...], sparse: bool) -> SimpleNamespace:
    """Data of one world with rows of two limits and of all contacts, in the order in which they are added.

    Each row has numbers that tell its contact and its edge: 10 * contact + edge, or -1 - limit.
    """
    tags, types, ids = [-1.0, -2.0], [LIMIT, LIMIT], [0, 1]
    addresses = np.full((len(PAIRS), 4), -1)
    blocks = [0, 1]
    for contact in added:
        addresses[contact, : NUM_EDGES[contact]] = len(tags) + np.arange(NUM_EDGES[contact])
        blocks.append(len(tags))
        tags += [10.0 * contact + edge for edge in range(NUM_EDGES[contact])]
        types += NUM_EDGES[contact] * [FRICTIONLESS if NUM_EDGES[contact] == 1 else PYRAMIDAL]
        ids += NUM_EDGES[contact] * [contact]
    numbers = np.array(tags, dtype=np.float32)[None]
    floats = {name: wp.array(numbers, device=CPU) for name in ("pos", "margin", "D", "vel", "aref", "frictionloss")}
    nonzeros = np.array(tags, dtype=int)[None] if sparse else np.zeros((1, 0), dtype=int)
    jacobian = np.repeat(numbers[:, :, None], NUM_DOFS, axis=2)
    efc = SimpleNamespace(
        type=integers([types]), id=integers([ids]), J_rownnz=integers(nonzeros), J_rowadr=integers(nonzeros),
        J=wp.array(jacobian, device=CPU), jtdaj_adr=integers([blocks] if sparse else np.zeros((1, 0), dtype=int)),
        jtdaj_nblock=integers([len(blocks) if sparse else 0]), **floats,
    )  # fmt: skip
    contact = SimpleNamespace(geom=wp.array(PAIRS, dtype=wp.vec2i, device=CPU), efc_address=integers(addresses))
    return SimpleNamespace(nworld=1, njmax=NUM_ROWS, nefc=integers([len(tags)]), efc=efc, contact=contact)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("added", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), ORDER])
def test_rows_follow_the_pairs_of_bodies_and_geoms(added: tuple[int, ...], sparse: bool) -> None:
    data = make_rows(added, sparse)
    model = SimpleNamespace(geom_bodyid=integers(np.array(GEOM_BODIES)), nv=NUM_DOFS)
    order = RowOrder(data, CPU)
    for _ in range(2):  # the second time, nothing changes
        order(model, data)
        expected = make_rows(ORDER, sparse)
        for name in ("type", "id", "J_rownnz", "J_rowadr", "pos", "margin", "D", "vel", "aref", "frictionloss"):
            assert np.array_equal(getattr(data.efc, name).numpy(), getattr(expected.efc, name).numpy()), name
        assert np.array_equal(data.contact.efc_address.numpy(), expected.contact.efc_address.numpy())
        assert sorted(data.efc.jtdaj_adr.numpy().flat) == sorted(expected.efc.jtdaj_adr.numpy().flat)
        if not sparse:
            assert np.array_equal(data.efc.J.numpy(), expected.efc.J.numpy())


def test_only_models_with_the_noslip_solver_need_the_order() -> None:
    mjcf = '<mujoco><option noslip_iterations="{}"/><worldbody><geom size="1"/></worldbody></mujoco>'
    assert needs_order(robots.Model(mjcf.format(3)).mj_model)
    assert not needs_order(robots.Model(mjcf.format(0)).mj_model)
