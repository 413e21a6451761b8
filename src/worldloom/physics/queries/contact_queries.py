"""Where two bodies touch."""

from typing import Any

import worldloom as wl
from worldloom.physics.geometry.clipping import manifold_point


def contact_query(World: type, Body: type, Contact: type) -> Any:
    """The function ``contact_point``."""

    @wl.function
    def contact_point(world: World, contact: Contact):
        b = world.at(Body, contact.b_id)
        total, weights = wl.vec3(0.0, 0.0, 0.0), 0.0
        for i in range(contact.num_points):
            anchor = wl.quat_rotate(b.rotation, manifold_point(contact.b_anchors, i))
            weight = contact.peaks[i] if contact.impulse > 0.0 else 1.0
            total += anchor * weight
            weights += weight
        point = b.position - contact.normal * contact.b_radius + total / max(weights, 1.0e-30)
        return point

    return contact_point
