"""Finding the world that a command is about: by its registered id, or in a file that registers it."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path

from worldloom.core.base.errors import InputError, WorldloomError
from worldloom.core.base.paths import expand_home
from worldloom.core.registry.registry import Definition, definition, registered

_LOADED: dict[Path, tuple[int, int, dict[str, Definition]]] = {}
"""Files that were run: when they were changed last (ns), their size, and what they registered."""


def file_and_id(env: str) -> tuple[str, str]:
    """The file and the id in what names a world; each empty where it has none."""
    head, colon, tail = env.rpartition(":")
    if colon and head.endswith(".py"):
        return head, tail
    return (env, "") if env.endswith(".py") else ("", env)


def find(env: str) -> Definition:
    """The definition that ``env`` names: ``CartPole-v1``, ``pond.py``, or ``pond.py:Pond-v0``."""
    file, wanted = file_and_id(env)
    if not file:
        return definition(wanted)
    found = load(Path(file))
    if wanted:
        if wanted not in found:
            raise InputError(f"{file} registers no world '{wanted}': it registers {', '.join(found)}")
        return found[wanted]
    if len(found) > 1:
        raise InputError(
            f"{file} registers {len(found)} worlds: say which, as in {file}:{next(iter(found))}; there are {', '.join(found)}"
        )
    return next(iter(found.values()))


def reference(env: str, made: Definition) -> str:
    """What finds the world ``made``, which ``env`` named, from any folder: its id, or with the whole path of its file."""
    file, _ = file_and_id(env)
    return f"{expand_home(file).resolve()}:{made.id}" if file else made.id


def load(file: Path) -> dict[str, Definition]:
    """Run ``file``, once while it stays as it is, and return the worlds that it registered, by id; its own where it imports others."""
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
        spec.loader.exec_module(module)
    except WorldloomError:
        raise
    except Exception as error:
        raise InputError(_explain(path, error)) from error
    new = {id_: made for id_, made in registered().items() if before.get(id_) is not made}
    own = {id_: made for id_, made in new.items() if made.file == str(path)}
    if not new:
        raise InputError(f"{file} registers no world: end it with wl.register(...)")
    return own or new


def _explain(path: Path, error: Exception) -> str:
    """What went wrong in the user's file, with the line in it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{path}{f':{line}' if line else ''}: the file cannot be run: {type(error).__name__}: {text}"
