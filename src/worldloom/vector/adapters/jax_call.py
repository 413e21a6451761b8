"""Calls of Python functions from compiled JAX programs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import warp as wp


def make_jax_call(
    call: Callable[..., None], name: str, inputs: Sequence[type], outputs: Sequence[tuple[type, int]]
) -> Callable[..., Any]:
    """A function of JAX arrays that calls ``call`` with flat Warp arrays: handle, inputs, outputs.

    The handle is passed on and returned, so that XLA keeps the order of calls.

    Args:
        call: The function. It writes the outputs.
        name: Its name in JAX programs.
        inputs: Types of the numbers of each input.
        outputs: Type of the numbers and size of each output.
    """
    types = {"handle": wp.array(dtype=wp.int32)}
    types |= {f"input_{k}": wp.array(dtype=dtype) for k, dtype in enumerate(inputs)}
    types |= {f"output_{k}": wp.array(dtype=dtype) for k, (dtype, _) in enumerate(outputs)}
    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=t) for n, t in types.items()]
    call.__qualname__ = name
    call.__annotations__ = types
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    jax_function: Callable[..., Any] = wp.jax_callable(
        call,
        num_outputs=1 + len(outputs),
        in_out_argnames=["handle"],
        output_dims={f"output_{k}": size for k, (_, size) in enumerate(outputs)},
        graph_mode=wp.JaxCallableGraphMode.NONE,  # a step is a recorded graph already
        vmap_method=None,
        module_preload_mode=wp.JaxModulePreloadMode.NONE,
        has_side_effect=True,
    )
    return jax_function
