"""Models: MJCF that is compiled once, and the components of its state."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.entity import Components
from worldloom.core.model.fields import Array, ComponentSpec
from worldloom.robots.arrays import ALWAYS, ARRAYS, SINGLE_PRECISION, Kind

if TYPE_CHECKING:
    import mujoco

FAULTS = "physics_faults"
"""Component of the faults of the last step of physics, see :class:`~worldloom.robots.physics.Fault`."""

_COUNTS = {
    "joint": "njnt",
    "camera": "ncam",
    "actuator": "nu",
    "equality": "neq",
    "material": "nmat",
    "texture": "ntex",
}
"""Sizes of ``mjModel`` that are not named after what they count."""


class Model:
    """A compiled MJCF model.

    .. code-block:: python

        ANT = robots.Model("ant.xml")

        class Ant(wl.Entity, ANT.State):
            cfrc_ext: ANT.cfrc_ext
            torque: wl.Action(wl.Box(-1.0, 1.0, (ANT.nu,)))

    Every array of ``mjData`` is an attribute: the type of a component of that name. So are parameters of ``mjModel``,
    such as ``body_mass``, which then have a value per world. Sizes of ``mjModel`` are attributes too.

    Args:
        source: A file (.xml, .mjb), MJCF text, a ``mujoco.MjSpec`` or a ``mujoco.MjModel``.
        assets: Files that MJCF text refers to, by name.

    Raises:
        InputError: Where MuJoCo is missing, or the model is wrong.
    """

    def __init__(self, source: Any, assets: dict[str, bytes] | None = None) -> None:
        self.mujoco = import_mujoco()
        with _python_warnings(self.mujoco):
            self.mj_model: mujoco.MjModel = _compile(self.mujoco, source, assets)
        _refuse_unsupported(self.mj_model)

    def __getattr__(self, name: str) -> Any:
        if name in ARRAYS:
            return self.component(name)
        if name.startswith("n") and isinstance(size := getattr(self.__dict__.get("mj_model"), name, None), int):
            return size
        raise AttributeError(f"'{name}' is neither an array of mjData that can be a component nor a size of mjModel")

    def component(self, name: str) -> ComponentSpec:
        """The type of the component for an array of ``mjData`` or a parameter of ``mjModel``.

        Raises:
            InputError: Where the array is empty in this model.
        """
        shape = self.shape(name)
        if ARRAYS[name].kind is Kind.PARAMETER and np.shape(parameter(self.mj_model, name)) != shape:
            raise InputError(f"'{name}' has another shape in this version of MuJoCo: install mujoco 3.17")
        if 0 in shape:
            raise InputError(f"{name} is empty in this model: leave the component out")
        if not shape:
            return ComponentSpec(wp.float64)
        return Array(wp.float32 if name in SINGLE_PRECISION else wp.float64, *shape)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array of ``mjData``; ``()`` for a single number."""
        return ARRAYS[name].sizes(self.mj_model)

    @cached_property
    def State(self) -> type[Components]:
        """The components that every entity of this model has: its whole state, controls, and faults of physics."""
        names = [name for name in ALWAYS if 0 not in self.shape(name)]
        annotations: dict[str, Any] = {name: self.component(name) for name in names}
        return type("State", (Components,), {"__annotations__": {**annotations, FAULTS: int}, "__module__": __name__})

    @cached_property
    def without_actuation(self) -> mujoco.MjModel:
        """A copy of the compiled model with actuation disabled."""
        model = copy.copy(self.mj_model)
        model.opt.disableflags |= self.mujoco.mjtDisableBit.mjDSBL_ACTUATION
        return model

    @property
    def saved(self) -> bytes:
        """The compiled model as the bytes of a .mjb file."""
        buffer = np.zeros(self.mujoco.mj_sizeModel(self.mj_model), dtype=np.uint8)
        self.mujoco.mj_saveModel(self.mj_model, None, buffer)
        return buffer.tobytes()

    def initial(self, name: str, keyframe: str | int | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A parameter of the model, or an array of ``mjData`` after a reset to the default pose or a keyframe; flat."""
        if ARRAYS[name].kind is Kind.PARAMETER:
            return np.asarray(parameter(self.mj_model, name), dtype=np.float64).reshape(-1).copy()
        data = self.mujoco.MjData(self.mj_model)
        if keyframe is None:
            self.mujoco.mj_resetData(self.mj_model, data)
        else:
            key = keyframe if isinstance(keyframe, int) else self.id("key", keyframe)
            self.mujoco.mj_resetDataKeyframe(self.mj_model, data, key)
        return np.asarray(getattr(data, name), dtype=np.float64).reshape(-1).copy()

    def id(self, kind: str, name: str) -> int:
        """The index of a named body, joint, geom, site, actuator, sensor, keyframe, ...

        Raises:
            InputError: Where the model has none of that name.
        """
        index = self.mujoco.mj_name2id(self.mj_model, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), name)
        if index < 0:
            count = getattr(self.mj_model, _COUNTS.get(kind, f"n{kind}"), 0)
            names = [self._name(kind, i) for i in range(count)]
            raise InputError(f"the model has no {kind} '{name}'; it has {', '.join(n for n in names if n) or 'none'}")
        return int(index)

    def body(self, name: str) -> int:
        """The index of a body."""
        return self.id("body", name)

    def sensor(self, name: str) -> int:
        """The first index of a sensor in ``sensordata``."""
        return int(self.mj_model.sensor_adr[self.id("sensor", name)])

    def _name(self, kind: str, index: int) -> str:
        name = self.mujoco.mj_id2name(self.mj_model, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), index)
        return str(name or "")


def supported_model(model: Model) -> Any:
    """The ``MjModel`` with Newton's solver where it asks for PGS, which MuJoCo Warp lacks."""
    supported = copy.copy(model.mj_model)
    if supported.opt.solver == model.mujoco.mjtSolver.mjSOL_PGS:
        supported.opt.solver = model.mujoco.mjtSolver.mjSOL_NEWTON
    return supported


def parameter(mj_model: Any, name: str) -> Any:
    """A parameter of an ``MjModel`` as an array."""
    return mj_model.opt.gravity if name == "gravity" else getattr(mj_model, name)


def import_mujoco_warp() -> Any:
    """The package; InputError where it is missing."""
    try:
        import mujoco_warp
    except ImportError:
        raise InputError("robots on a GPU need MuJoCo Warp: pip install 'worldloom[robots]'") from None
    return mujoco_warp


def import_mujoco() -> Any:
    """The package; InputError where it is missing."""
    try:
        import mujoco
    except ImportError:
        raise InputError("robots need MuJoCo: pip install 'worldloom[robots]'") from None
    return mujoco


@contextmanager
def _python_warnings(mujoco: Any) -> Iterator[None]:
    """Makes MuJoCo's warnings Python's. By default MuJoCo appends them to a file in the current folder."""
    texts: list[str] = []
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(texts.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(handler)
    for text in texts:
        warnings.warn(f"MuJoCo: {text}", stacklevel=4)


def _compile(mujoco: Any, source: Any, assets: dict[str, bytes] | None) -> Any:
    """The ``MjModel`` of a source; InputError with MuJoCo's reason where it is wrong."""
    if isinstance(source, mujoco.MjModel):
        return source
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    what = "the MJCF text" if is_text else "the specification" if isinstance(source, mujoco.MjSpec) else f"'{source}'"
    try:
        if isinstance(source, mujoco.MjSpec):
            return source.compile()
        if is_text:
            return mujoco.MjModel.from_xml_string(source, assets or {})
        if not isinstance(source, (str, os.PathLike)):
            raise InputError(
                f"a model is a file, MJCF text, an MjSpec or an MjModel, not an object of type {type(source).__name__}"
            )
        path = Path(source)
        if not path.is_file():
            raise InputError(f"there is no model file '{path}'")
        load = mujoco.MjModel.from_binary_path if path.suffix == ".mjb" else mujoco.MjModel.from_xml_path
        return load(str(path))
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split())
        if "allocate" in reason or "unknown exception" in reason:  # std::bad_alloc
            reason = "it is too large for the memory"
        raise InputError(f"MuJoCo cannot compile {what}: {reason}") from None


def _refuse_unsupported(model: Any) -> None:
    """InputError where the state has parts that are no components."""
    for size, what in (
        ("nplugin", "plugins"),
        ("nuserdata", "user data"),
        ("nhistory", "delays of sensors or actuators"),
    ):
        if getattr(model, size, 0):
            raise InputError(
                f"the model has {what} ({size} {getattr(model, size)}), which is not supported: remove them"
            )
