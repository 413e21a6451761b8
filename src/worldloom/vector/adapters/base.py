"""The constructor that adapters for other libraries share, and the form of actions that some of them receive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.checks import Backend


class VectorAdapter:
    """A batch of worlds behind the interface of another library: ``class Sb3VectorEnv(VectorAdapter, VecEnv)``.

    Class attributes:
        BACKEND: ``torch`` for tensors on the worlds' device, or ``numpy``.
        AUTORESET: The autoreset mode that the library expects.
        OPTIONS: Further arguments of :class:`WorldVectorEnv` that the adapter accepts.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: Number of worlds.
        device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
        seed: One seed, or one per world; None draws one from the operating system.
        threads: CPU threads; None uses every core that has enough work.
        config: Values of the world's configuration.
        options: Those named in ``OPTIONS``.
    """

    BACKEND: ClassVar[Backend] = "torch"
    AUTORESET: ClassVar[Autoreset] = "same_step"
    OPTIONS: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        world: str | Definition,
        num_envs: int = 1,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        config: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if unexpected := sorted(options.keys() - self.OPTIONS):
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument '{unexpected[0]}'")
        # Some libraries define __setattr__ and cannot handle it before their own constructor has run.
        self.__dict__["_worlds"] = WorldVectorEnv(
            world,
            num_envs,
            device=device,
            seed=seed,
            threads=threads,
            config=config,
            backend=self.BACKEND,
            gymnasium_types=False,  # the types of columns, which the specs of adapters describe
            **{"autoreset": self.AUTORESET, **options},
        )
        self._connect(self.worlds, config or {})

    def _connect(self, worlds: WorldVectorEnv, config: Mapping[str, Any]) -> None:
        """Call the library's own constructor, and set the attributes that it expects."""

    @property
    def worlds(self) -> WorldVectorEnv:
        """The worlds as a Gymnasium vector environment."""
        worlds: WorldVectorEnv = self.__dict__["_worlds"]
        return worlds

    def close(self) -> None:
        """Release the worlds' memory."""
        self.worlds.close()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Some libraries define __getattr__, which fails on an object without attributes."""
        self.__dict__.update(state)

    def __enter__(self) -> VectorAdapter:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def stack_actions(actions: Any) -> Any:
    """The actions of worlds, one item each, as an array of shape (len(actions), ...), or a dict of them by component.

    Libraries that support environments with several action components give each world a dict.
    """
    if len(actions) and isinstance(actions[0], Mapping):
        return {key: np.stack([to_numpy(action[key], key) for action in actions]) for key in actions[0]}
    return to_numpy(actions, "the actions")
