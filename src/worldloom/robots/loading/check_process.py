"""The process that loads models of others: what is damaged, endless or too large ends or fills this process alone.

:mod:`worldloom.robots.loading.checker` runs this file in a new interpreter. It imports nothing of worldloom. It serves
requests ``(source, assets, folder, seconds, bytes)``: a path or MJCF text, the files that the text refers to by name,
the current folder, and the limits. The reply is ``("loaded", warnings)``, followed by the bytes of the compiled model;
or ``("failed", reason)``, where the reason ``"memory"`` means that the memory did not suffice. It exits after
``IDLE_SECONDS`` without a request.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

IDLE_SECONDS = 10.0
FOLDERS = ("meshdir", "texturedir", "assetdir")
"""Attributes of <compiler> with the folder of files."""
MAX_FILES = 10_000
"""MJCF files that are searched for names of files."""
NUM_STEPS = 20
"""Steps of physics of a compiled model, from each of ``NUM_STATES`` states."""
NUM_STATES = 4
ENUMERATIONS = {
    "jnt_type": "mjtJoint",
    "geom_type": "mjtGeom",
    "site_type": "mjtGeom",
    "cam_mode": "mjtCamLight",
    "light_mode": "mjtCamLight",
    "eq_type": "mjtEq",
    "eq_objtype": "mjtObj",
    "wrap_type": "mjtWrap",
    "actuator_trntype": "mjtTrn",
    "actuator_dyntype": "mjtDyn",
    "actuator_gaintype": "mjtGain",
    "actuator_biastype": "mjtBias",
    "sensor_type": "mjtSensor",
    "sensor_objtype": "mjtObj",
    "sensor_reftype": "mjtObj",
    "tuple_objtype": "mjtObj",
}
"""Arrays of ``mjModel`` by which MuJoCo chooses code, with their enumerations."""


class RefusedError(Exception):
    """A model that must not be loaded, with the reason."""


def main(descriptor: int) -> None:
    """Serve the connection with this file descriptor."""
    os.set_inheritable(descriptor, False)
    warnings: list[str] = []
    mujoco.set_mju_user_warning(warnings.append)
    connection, base = Connection(descriptor), memory_in_use()
    connection.send(("ready",))
    while connection.poll(IDLE_SECONDS):
        try:
            source, assets, folder, seconds, limit = connection.recv()
        except (EOFError, ConnectionError):
            return
        restrict(seconds, base + limit)
        warnings.clear()
        try:
            os.chdir(folder)
            compiled = saved(load(source, assets))
            connection.send(("loaded", list(warnings)))
            connection.send_bytes(compiled)
        except MemoryError:
            connection.send(("failed", "memory"))
        except Exception as error:  # of MuJoCo: the parent reports it
            reason = " ".join(str(error).split())
            out_of_memory = "allocate" in reason or "unknown exception" in reason  # std::bad_alloc
            connection.send(("failed", "memory" if out_of_memory else reason))
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def memory_in_use() -> int:
    """Bytes of the address space of this process; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def restrict(seconds: float, limit: int) -> None:
    """Limit the time of a request, as the parent does too, and the memory of this process. It writes no files."""
    import resource

    signal.setitimer(signal.ITIMER_REAL, seconds + 5.0)  # ends this process where the parent was killed
    for kind, value in (
        (resource.RLIMIT_AS, limit),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def load(source: str, assets: Mapping[str, bytes]) -> Any:
    """The model of a path or of MJCF text."""
    if source.lstrip().startswith("<"):
        refuse_devices(source, Path())
        return mujoco.MjModel.from_xml_string(source, dict(assets))
    if source.endswith(".mjb"):
        try:
            model = mujoco.MjModel.from_binary_path(source)
            verify(model)
        except (ValueError, mujoco.FatalError) as error:
            reason = f"it is damaged, or saved by another version than {mujoco.__version__}: save it again ({error})"
            raise RefusedError(reason) from None
        return model
    refuse_devices("", Path(source))
    return mujoco.MjModel.from_xml_path(source)


def refuse_devices(text: str, path: Path) -> None:
    """Raise ``RefusedError`` where MJCF refers to a pipe or a device, whose contents may never end.

    Args:
        text: MJCF text; empty to read ``path``.
        path: The file of the model.
    """
    folders, names, read = {""}, [], {path}
    waiting = [path]
    while waiting and len(read) < MAX_FILES:
        current = waiting.pop()
        for element in elements(text, current):
            folders.update(element.get(name, "") for name in FOLDERS)
            for attribute, name in element.items():
                if not (attribute.startswith("file") and name):
                    continue
                names.append(name)
                for base in {current.parent, path.parent} if element.tag in ("include", "model") else ():
                    if (base / name).is_file() and base / name not in read:
                        read.add(base / name)
                        waiting.append(base / name)
        text = ""
    for name in names:
        for folder in folders:
            for base in {file.parent for file in read}:
                for candidate in (base / folder / name, base / folder / Path(name).name):
                    if is_device(candidate):
                        raise RefusedError(f"'{candidate}', to which it refers, is no regular file")


def elements(text: str, path: Path) -> Iterator[ElementTree.Element]:
    """The elements of MJCF; none where it is no XML, which MuJoCo then reports."""
    try:
        root = ElementTree.fromstring(text or path.read_bytes())  # noqa: S314 - memory and time are limited
    except (ElementTree.ParseError, OSError, ValueError):
        return iter(())
    return root.iter()


def is_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def verify(model: Any) -> None:
    """Check what MuJoCo does not check when it loads a compiled model, and take some steps of physics."""
    for name, kind in ENUMERATIONS.items():
        values, known = np.ravel(getattr(model, name, ())), {int(value) for value in members(kind)}
        if not set(values.tolist()) <= known:
            raise ValueError(f"{name} holds unknown values")
    data, generator = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(NUM_STATES):
        mujoco.mj_resetData(model, data)
        data.qpos[:] += generator.uniform(-0.3, 0.3, model.nq)
        for _ in range(NUM_STEPS):
            data.ctrl[:] = generator.uniform(-1.0, 1.0, model.nu)
            mujoco.mj_step(model, data)
        mujoco.mj_rnePostConstraint(model, data)


def members(kind: str) -> list[Any]:
    """The members of an enumeration of MuJoCo."""
    return list(getattr(mujoco, kind).__members__.values())


def saved(model: Any) -> bytes:
    """The bytes of a .mjb file."""
    buffer = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


if __name__ == "__main__":
    del sys.path[0]  # this folder
    main(int(sys.argv[1]))
    os._exit(0)
