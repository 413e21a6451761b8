"""Lookup of the world that a command names: by its registered id, or in a file that registers it."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path

from worldloom.core.base.errors import InputError, WorldloomError
from worldloom.core.base.paths import expand_home
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition, executing, registered

_LOADED: dict[Path, tuple[int, int, dict[str, Definition]]] = {}
"""Files that were executed: time of the last change (ns), size, and the worlds that they registered."""


def file_and_id(env: str) -> tuple[str, str]:
    """The file and the id in the name of a world; each is empty where the name has none."""
    head, colon, tail = env.rpartition(":")
    if colon and head.endswith(".py"):
        return head, tail
    return (env, "") if env.endswith(".py") else ("", env)


def find(env: str) -> Definition:
    """The definition that ``env`` names: ``CartPole-v1``, ``pond.py``, or ``pond.py:Pond-v0``."""
    file, world_id = file_and_id(env)
    if not file:
        return definition(world_id)
    worlds = load(Path(file))
    if world_id:
        if world_id not in worlds:
            raise InputError(f"{file} registers no world '{world_id}': it registers {', '.join(worlds)}")
        return worlds[world_id]
    if len(worlds) > 1:
        raise InputError(
            f"{file} registers {len(worlds)} worlds: say which, as in {file}:{next(iter(worlds))}; "
            f"there are {', '.join(worlds)}"
        )
    return next(iter(worlds.values()))


def reference(env: str, world: Definition) -> str:
    """A name of ``world``, which ``env`` names, that is valid in any folder: its id, and the path of its file."""
    file, _ = file_and_id(env)
    return f"{expand_home(file).resolve()}:{world.id}" if file else world.id


def load(file: Path) -> dict[str, Definition]:
    """Execute ``file``, again only after a change, and return the worlds that it registered, by id."""
    path = expand_home(file).resolve()
    if not path.is_file():
        raise InputError(f"there is no file {file}")
    state = path.stat()
    known = _LOADED.get(path)
    if known is None or known[:2] != (state.st_mtime_ns, state.st_size):
        known = _LOADED[path] = (state.st_mtime_ns, state.st_size, _run(path, file))
    return dict(known[2])


def _run(path: Path, file: Path) -> dict[str, Definition]:
    before = registered()
    name = f"worldloom_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        with executing(str(path)):
            spec.loader.exec_module(module)
    except WorldloomError:
        raise
    except Exception as error:
        raise InputError(_explain(path, error)) from error
    new = {id_: world for id_, world in registered().items() if before.get(id_) is not world}
    own = {id_: world for id_, world in new.items() if world.file == str(path)}  # without those of files it imports
    if not new:
        raise InputError(f"{file} registers no world: end it with wl.register(...)")
    return own or new


def _explain(path: Path, error: Exception) -> str:
    """The error in the user's file, with its line."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{path}{f':{line}' if line else ''}: the file cannot be run: {type(error).__name__}: {text}"
