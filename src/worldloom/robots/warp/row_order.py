"""The order of contacts in models with MuJoCo's noslip solver.

It takes a few sweeps over the contacts (projected Gauss-Seidel), too few to converge: friction depends on the order of
the contacts. In MuJoCo, they are ordered by their pairs of bodies and of geoms. In MuJoCo Warp, threads add contacts
and their rows in any order, another one in each run.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.robots.warp.row_order_kernels import Row, find_targets, move_jacobian, move_rows


def needs_order(compiled: Any) -> bool:
    """Whether the results of a model depend on the order of its contacts.

    Args:
        compiled: The ``MjModel``.
    """
    return bool(compiled.opt.noslip_iterations > 0 and compiled.nflex == 0)


class RowOrder:
    """Orders the rows of contacts as MuJoCo does: for ``callback.passive``, which is called before the solver.

    Args:
        data: The data of MuJoCo Warp.
        device: The device.
    """

    def __init__(self, data: Any, device: wp.Device) -> None:
        self.rows = wp.zeros((data.nworld, data.njmax), dtype=Row, device=device)
        is_dense = not data.efc.J_rownnz.size
        self.jacobian = wp.zeros_like(data.efc.J) if is_dense else None

    def __call__(self, model: Any, data: Any) -> None:
        """Order the rows of all worlds."""
        efc, contact = data.efc, data.contact
        fields = [efc.type, efc.id, efc.J_rownnz, efc.J_rowadr, efc.pos, efc.margin, efc.D]
        fields = [contact.efc_address, *fields, efc.vel, efc.aref, efc.frictionloss]
        inputs = [model.geom_bodyid, data.nefc, contact.geom, *fields]
        wp.launch(find_targets, dim=self.rows.shape, inputs=inputs, outputs=[self.rows], record_tape=False)
        moved = [data.nefc, self.rows]
        outputs = [*fields, efc.jtdaj_adr]
        wp.launch(move_rows, dim=self.rows.shape, inputs=[*moved, efc.jtdaj_nblock], outputs=outputs, record_tape=False)
        if self.jacobian is not None:
            wp.copy(self.jacobian, efc.J)
            dim = (*self.rows.shape, model.nv)
            wp.launch(move_jacobian, dim=dim, inputs=[*moved, self.jacobian], outputs=[efc.J], record_tape=False)
