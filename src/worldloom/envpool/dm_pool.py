"""Pools with the functions of dm_env."""

from __future__ import annotations

from typing import Any, ClassVar

from worldloom.core.base.errors import InputError
from worldloom.envpool.dm_state import nesting_of
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.spec import EnvSpec
from worldloom.envpool.state import State

try:
    import dm_env
except ImportError as missing:
    raise InputError("env_type='dm' needs the package dm-env: pip install 'worldloom[compat]'") from missing


class DMEnvPool(EnvPool, dm_env.Environment):  # type: ignore[misc]
    """A pool whose ``step`` and ``reset`` return a TimeStep; each of its fields has one row per environment.

    ``TimeStep.observation`` is a named tuple: ``obs``, or one field per component, with ``env_id``, ``players`` and the
    infos of the task.

    Args:
        spec: The spec of the task.
    """

    TIME_STEPS: ClassVar[bool] = True

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self._nest = nesting_of(self._engine.groups[0].reader.keys)

    def _to(self, state: State, reset: bool) -> Any:
        return dm_env.TimeStep(state["step_type"], state["reward"], state["discount"], self._nest(state))

    def observation_spec(self) -> Any:
        """The specs of one environment's observation and infos."""
        return self.spec.observation_spec()

    def action_spec(self) -> Any:
        """The spec of one environment's action."""
        return self.spec.action_spec()
