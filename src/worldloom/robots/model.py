"""Models: MJCF that is compiled once, and the components of its state."""

from __future__ import annotations

import copy
import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.entity import Components
from worldloom.core.model.fields import Array, ComponentSpec
from worldloom.robots.arrays import ALWAYS, ARRAYS, SINGLE_PRECISION, Kind
from worldloom.robots.loading.checker import CHECKER, LoadLimits
from worldloom.robots.loading.messages import MESSAGES
from worldloom.robots.model_content import content_digest

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
        limits: Time and memory of loading a file or text, which another process does, so that a model of others cannot
            hang or crash this one.
        trusted: Whether this process loads it itself, without limits.

    Attributes:
        title: What messages call it.

    Raises:
        InputError: Where MuJoCo is missing, or the model is wrong, or exceeds the limits.
    """

    def __init__(
        self,
        source: Any,
        assets: dict[str, bytes] | None = None,
        *,
        limits: LoadLimits | None = None,
        trusted: bool = False,
    ) -> None:
        self.mujoco = import_mujoco()
        self.title = _title(self.mujoco, source)
        if limits is not None and not isinstance(limits, LoadLimits):
            raise InputError(f"limits are robots.LoadLimits(seconds=..., gib=...), not {limits!r}")
        checked = None if trusted else (limits or LoadLimits()).resolved()
        self.mj_model: mujoco.MjModel = _compile(self.mujoco, source, assets or {}, checked, self.title)
        _refuse_unsupported(self.mj_model)
        self._contents: dict[int, str] = {}

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

    @property
    def saved_digest(self) -> str:
        """The SHA-256 of the compiled model."""
        return hashlib.sha256(self.saved).hexdigest()

    @property
    def content_digest(self) -> str:
        """The SHA-256 of what it computes, see :func:`~worldloom.robots.model_content.content_digest`."""
        saved = hash(self.saved)
        if saved not in self._contents:  # it takes a second for models with large meshes
            self._contents[saved] = content_digest(self.mj_model)
        return self._contents[saved]

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
    """The package; InputError where it is missing, or finds no OpenGL."""
    try:
        import mujoco
    except ImportError:
        raise InputError("robots need MuJoCo: pip install 'worldloom[robots]'") from None
    except (AttributeError, OSError, RuntimeError) as error:
        raise InputError(
            f"MuJoCo cannot be imported with MUJOCO_GL={os.environ.get('MUJOCO_GL', '')} ({error}): set it to egl, "
            "osmesa or glfw, whichever is installed, or to disable"
        ) from None
    MESSAGES.install(mujoco)
    return mujoco


def _title(mujoco: Any, source: Any) -> str:
    """What a model is called in messages."""
    if isinstance(source, mujoco.MjModel):
        return "the compiled model"
    if isinstance(source, mujoco.MjSpec):
        return "the specification"
    return "the MJCF text" if _is_text(source) else f"'{source}'"


def _is_text(source: Any) -> bool:
    return isinstance(source, str) and source.lstrip().startswith("<")


def _compile(mujoco: Any, source: Any, assets: dict[str, bytes], limits: tuple[float, float] | None, title: str) -> Any:
    """The ``MjModel`` of a source; InputError with MuJoCo's reason where it is wrong.

    A file or text is loaded by a process of its own, within limits of seconds and GiB; by this process where they are
    None.
    """
    if isinstance(source, mujoco.MjModel):
        return source
    is_spec = isinstance(source, mujoco.MjSpec)
    text = "" if is_spec else source if _is_text(source) else str(_checked_path(source))
    with MESSAGES.collect(mujoco, title, stacklevel=5) as warnings:
        try:
            if is_spec:
                return source.compile()
            if limits is not None:
                compiled, texts = CHECKER.load(text, assets, *limits)
                warnings.extend(texts)
                return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": compiled})
            if _is_text(source):
                return mujoco.MjModel.from_xml_string(source, assets)
            load = mujoco.MjModel.from_binary_path if text.endswith(".mjb") else mujoco.MjModel.from_xml_path
            return load(text)
        except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
            reason = " ".join(str(error).split())
            if "allocate" in reason or "unknown exception" in reason:  # std::bad_alloc
                reason = "it is too large for the memory"
            raise InputError(f"MuJoCo cannot compile {title}: {reason}") from None


def _checked_path(source: Any) -> Path:
    """The path of a regular file."""
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"a model is a file, MJCF text, an MjSpec or an MjModel, not an object of type {type(source).__name__}"
        )
    path = Path(source)
    if not path.exists():
        raise InputError(f"there is no model file '{path}'")
    if not path.is_file():
        raise InputError(f"the model '{path}' is no regular file: name a file with MJCF or a compiled model (.mjb)")
    return path


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
