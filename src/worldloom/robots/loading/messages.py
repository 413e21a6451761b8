"""MuJoCo's warnings as Python's. By default MuJoCo prints them and appends them to a file in the current folder."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

LOG_FILE = "MUJOCO_LOG.TXT"
MAX_NAMES = 3
_LOGGER = logging.getLogger("worldloom.robots")
_NUMBERS = re.compile(r"[-+]?\d[\d.e+-]*")


class Messages:
    """Receives MuJoCo's warnings, from any thread, and passes each on once per model."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._collecting: list[list[str]] = []
        self._models: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._seen: set[tuple[str, ...]] = set()

    def install(self, mujoco: Any) -> None:
        """Receive the warnings of this process, unless it has a handler of its own, and keep MuJoCo from its file."""
        config = getattr(mujoco, "MjLogConfig", None)
        if config is not None:  # MuJoCo 3.17; errors are written without it too
            current = config.get()
            if current.logto_file and current.logfile == LOG_FILE:
                current.logto_file = False
                current.set()
        if mujoco.get_mju_user_warning() is None:
            mujoco.set_mju_user_warning(self.receive)

    def receive(self, text: str) -> None:
        """Handle a warning. It must not raise: MuJoCo's native code calls it."""
        with self._lock:
            if self._collecting:
                self._collecting[-1].append(text)
                return
            names = sorted({model.title for model in self._models.values()})
            key = (_NUMBERS.sub("", text), *names)
            if key in self._seen:
                return
            self._seen.add(key)
        where = " or ".join(names[:MAX_NAMES]) + (" or another" if len(names) > MAX_NAMES else "")
        with contextlib.suppress(Exception):
            _LOGGER.warning("MuJoCo: %s%s", text, f" (in {where})" if where else "")

    def add_model(self, model: Any) -> None:
        """Name a model in the warnings of its physics. It has an attribute ``title``."""
        with self._lock:
            self._models[id(model)] = model

    @contextlib.contextmanager
    def collect(self, mujoco: Any, title: str, stacklevel: int = 3) -> Iterator[list[str]]:
        """Within it warnings are added to a list, and at its end each becomes a Python warning that names the model."""
        texts: list[str] = []
        handler = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(self.receive)
        with self._lock:
            self._collecting.append(texts)
        try:
            yield texts
        finally:
            with self._lock:
                self._collecting = [other for other in self._collecting if other is not texts]
            mujoco.set_mju_user_warning(handler)
        for text in dict.fromkeys(texts):
            warnings.warn(f"MuJoCo: {text} (in {title})", stacklevel=stacklevel + 1)


MESSAGES = Messages()
"""The warnings of this process."""
