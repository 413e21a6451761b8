"""``Rollout`` and ``rollout``: steps of any PyTorch policy in worlds. PyTorch is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from worldloom.core.base.arrays import checked_int
from worldloom.core.base.errors import InputError
from worldloom.vector.env_layout import make_layout
from worldloom.vector.rollouts.result import RolloutResult

if TYPE_CHECKING:
    from worldloom.vector.rollouts.policy_graph import PolicyGraph

PolicyFunction = Callable[[Any], Any]
"""From observations [N, ...] to actions [N, ...], or to ``(actions, extras)`` with a dict of further tensors."""
MAX_CACHED = 8
"""Rollouts of one simulation that :func:`rollout` keeps."""
CACHE = "_rollouts"
"""The attribute of a simulation that holds them, the last used one last."""
EAGERLY = "run the rollout eagerly with capture=False"


class Rollout:
    """Steps of a policy in worlds, repeated with every call.

    On a GPU the first call runs step by step; then policy and worlds are captured as one CUDA graph of ``num_steps``
    steps, and calls replay it without a device synchronization. Parameters that an optimizer updates in place are used
    by the next call. Python values of the policy are those of the capture. On the CPU every call is a loop.

    Args:
        env: An environment of ``wl.make``, an adapter, or a :class:`~worldloom.Simulation`, with autoreset. A rollout
            begins with its current observations.
        policy: Any callable of PyTorch, from observations [N, ...] to actions [N, ...], or to ``(actions, extras)``
            with a dict of further tensors, such as log-probabilities and values. It runs without gradients.
        num_steps: Steps of every world in a call, T.
        capture: Whether the rollout is captured on a GPU. Without, the policy may use any operation.
        final_observations: Whether to keep the last observations of episodes, which bootstrap values at truncations
            need.
        agent_rewards: Whether rewards are those of the agents, [T, N, agents], and not their sum; a dict where several
            components are rewards.
        out: Tensors of the caller that the rollout writes, by the names of :class:`RolloutResult`; or an earlier
            result. Others are allocated.
    """

    def __init__(
        self,
        env: Any,
        policy: PolicyFunction,
        num_steps: int,
        *,
        capture: bool = True,
        final_observations: bool = True,
        agent_rewards: bool = False,
        out: Mapping[str, Any] | RolloutResult | None = None,
    ) -> None:
        from worldloom.vector.rollouts.env_source import resolve_env
        from worldloom.vector.rollouts.policy_graph import PolicyGraph
        from worldloom.vector.rollouts.steps import RolloutSteps
        from worldloom.vector.rollouts.storage import RolloutStorage
        from worldloom.vector.rollouts.world_columns import WorldColumns

        if not callable(policy):
            raise InputError(f"a policy is a function of observations, not {type(policy).__name__}")
        self.num_steps = checked_int("num_steps", num_steps, 1)
        self.simulation, gymnasium_types = resolve_env(env)
        self.policy = policy
        captured = capture and self.simulation.device.is_cuda
        if captured and self.simulation.has_host_calls:
            raise InputError(
                f"world '{self.simulation.definition.id}' has Python callables in its schedule, which a CUDA graph "
                f"cannot hold: {EAGERLY}"
            )
        layout = make_layout(self.simulation.definition)
        columns = WorldColumns(self.simulation, layout, gymnasium_types, agent_rewards)
        self._storage = RolloutStorage(columns, self.num_steps, _as_mapping(out), final_observations)
        self._steps = RolloutSteps(columns, self._storage, self.num_steps, captured)
        self._graph: PolicyGraph | None = None
        if captured:
            self._graph = PolicyGraph(policy, self.simulation, self._steps, columns.device)

    def __call__(self) -> RolloutResult:
        """Take ``num_steps`` steps. The next call overwrites the tensors of the result; ``clone()`` copies them."""
        if self._graph is None:
            self._steps.run(self.policy, self.simulation.step)
        else:
            self.simulation._check_open()
            if self.simulation.recorder is not None:
                raise InputError(f"the worlds are being recorded, which a CUDA graph cannot do: {EAGERLY}")
            self._graph.run()
            self.simulation.pristine = False
            self.simulation.check_capacity()  # steps of a CUDA graph do not check it
        return self._storage.result

    def _copied_result(self) -> RolloutResult:
        """The last result with copies of the tensors that are not the caller's."""
        import torch

        given = self._storage.given
        with torch.inference_mode(False):  # a tensor made in inference mode cannot be trained on
            return self._storage.result.map(lambda tensor: tensor if id(tensor) in given else tensor.clone())


def rollout(
    env: Any,
    policy: PolicyFunction,
    num_steps: int,
    *,
    capture: bool = True,
    final_observations: bool = True,
    agent_rewards: bool = False,
    out: Mapping[str, Any] | RolloutResult | None = None,
) -> RolloutResult:
    """Take ``num_steps`` steps in all worlds with a policy, and return copies of all tensors.

    The :class:`Rollout` of an environment, a policy and the other arguments is kept, so a later call replays its graph.
    Arguments as for :class:`Rollout`.
    """
    from worldloom.vector.rollouts.env_source import resolve_env

    simulation, gymnasium_types = resolve_env(env)
    options = {"capture": capture, "final_observations": final_observations, "agent_rewards": agent_rewards}
    cache: dict[Any, Rollout] = vars(simulation).setdefault(CACHE, {})
    key = (
        policy if isinstance(policy, Hashable) else id(policy),
        (num_steps, gymnasium_types, *options.values(), _identity(_as_mapping(out))),
    )
    cached = cache.pop(key, None)
    if cached is None:
        cached = Rollout(env, policy, num_steps, out=out, **options)
        while len(cache) >= MAX_CACHED:
            del cache[next(iter(cache))]
    cache[key] = cached
    cached()
    return cached._copied_result()


def _identity(out: Any) -> Any:
    """A key for the caller's tensors: the same for other dicts of the same tensors."""
    if isinstance(out, Mapping):
        return tuple((name, _identity(value)) for name, value in out.items())
    return tuple(map(_identity, out)) if isinstance(out, tuple) else id(out)


def _as_mapping(out: Mapping[str, Any] | RolloutResult | None) -> Mapping[str, Any]:
    if isinstance(out, RolloutResult):
        return {field.name: getattr(out, field.name) for field in fields(out)}
    if out is not None and not isinstance(out, Mapping):
        raise InputError(f"out is a dict of tensors, or a result of a rollout, not {type(out).__name__}")
    return out or {}
