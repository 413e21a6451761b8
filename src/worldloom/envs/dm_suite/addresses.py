"""Indices in the arrays of a model: of sensors, joints and axes of bodies."""

from worldloom.robots import Model

XX, XZ, ZX, ZY, ZZ = 0, 2, 6, 7, 8
"""Columns of ``xmat``: the world's coordinate, then the body's axis."""


def sensor_address(model: Model, name: str) -> int:
    """The first index of a sensor in ``sensordata``."""
    return model.sensor(name)


def joint_address(model: Model, name: str) -> int:
    """The first index of a joint in ``qpos``."""
    return int(model.mj_model.jnt_qposadr[model.id("joint", name)])


def velocity_address(model: Model, name: str) -> int:
    """The first index of a joint in ``qvel``."""
    return int(model.mj_model.jnt_dofadr[model.id("joint", name)])
