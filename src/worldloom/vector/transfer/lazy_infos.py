"""Infos whose entries are made when a client first uses them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Pending = tuple[Callable[[Any], dict[str, Any]], Any]
"""A function that makes the entries, and its argument."""


class LazyInfos(dict[str, Any]):
    """A dict that fills itself at the first use of any of its methods. :func:`lazy_infos` makes one."""

    __slots__ = ("_pending",)
    _pending: Pending | None

    def fill(self) -> None:
        """Make the entries, unless they are there. Threads that use the infos at once may each make them."""
        pending = getattr(self, "_pending", None)  # not set by LazyInfos()
        if pending is not None:
            build, values = pending
            dict.update(self, build(values))
            self._pending = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is a plain dict."""
        return dict, (dict(self),)


def _filling(name: str) -> Callable[..., Any]:
    """A method of dict that fills a :class:`LazyInfos` first."""
    method = getattr(dict, name)

    def call(self: LazyInfos, *arguments: Any, **entries: Any) -> Any:
        self.fill()
        return method(self, *arguments, **entries)

    call.__name__, call.__qualname__, call.__doc__ = name, f"LazyInfos.{name}", method.__doc__
    return call


for _name in (
    *("__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__reversed__", "__len__"),
    *("__eq__", "__ne__", "__or__", "__ror__", "__ior__", "__repr__"),
    *("get", "keys", "values", "items", "pop", "popitem", "setdefault", "update", "clear", "copy"),
):
    setattr(LazyInfos, _name, _filling(_name))


def lazy_infos(build: Callable[[Any], dict[str, Any]], values: Any) -> LazyInfos:
    """Infos whose entries ``build`` returns, given ``values``. A constructor in Python would take twice the time."""
    infos = LazyInfos()
    infos._pending = build, values
    return infos


@functools.cache
def register_with_torch() -> None:
    """Make PyTorch's ``tree_map`` and its kin treat infos as the dict that they are, and return a plain dict."""
    from torch.utils import _pytree

    _pytree.register_pytree_node(LazyInfos, lambda infos: (list(infos.values()), list(infos)), _as_dict)


def _as_dict(values: Any, keys: Any) -> dict[str, Any]:
    return dict(zip(keys, values, strict=True))
