"""Whether two boxes overlap: the separating-axis test with 15 axes."""

import worldloom as wl


@wl.function
def boxes_touch(a_half: wl.vec3, b_half: wl.vec3, offset: wl.vec3, rotation: wl.quat) -> bool:
    """Whether box A with world axes and box B overlap.

    Args:
        a_half: half extents of A.
        b_half: half extents of B.
        offset: from the centre of A to that of B.
        rotation: of B, body to world.
    """
    axes = wl.quat_to_matrix(rotation)
    for i in range(3):
        reach = a_half[i]
        for j in range(3):
            reach += abs(axes[i, j]) * b_half[j]
        if abs(offset[i]) > reach:
            return False
    for j in range(3):
        reach = b_half[j]
        distance = 0.0
        for i in range(3):
            reach += abs(axes[i, j]) * a_half[i]
            distance += axes[i, j] * offset[i]
        if abs(distance) > reach:
            return False
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):  # the product of axis i of A and axis j of B
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            reach = a_half[i1] * abs(axes[i2, j]) + a_half[i2] * abs(axes[i1, j])
            reach += b_half[j1] * abs(axes[i, j2]) + b_half[j2] * abs(axes[i, j1])
            if abs(offset[i2] * axes[i1, j] - offset[i1] * axes[i2, j]) > reach:
                return False
    return True
