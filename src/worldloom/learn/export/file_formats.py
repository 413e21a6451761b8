"""Policies as bytes of a file: ONNX, TorchScript and safetensors, each with the facts of the policy as JSON.

ONNX and safetensors files are data. A TorchScript file holds a program, as its format demands: load only those that
you trust.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.learn.export.policy_function import PolicyFunction

Format = Literal["onnx", "torchscript", "safetensors"]
SUFFIXES: dict[Format, str] = {"onnx": ".onnx", "torchscript": ".pt", "safetensors": ".safetensors"}
KIND, VERSION = "exported policy", 1
"""Kind and version of a safetensors file."""
FACTS = "worldloom"
"""Key of the facts in the metadata of an ONNX file; ``worldloom.json`` is their file in a TorchScript archive."""
EXAMPLE_ROWS = 2
"""Rows of the example with which networks are traced; with one row, PyTorch would fix their number."""
CHECKED_ROWS = (1, 3)
"""Rows of the inputs with which a traced network is compared with the policy."""
TOLERANCE = 1e-4
"""Relative and absolute difference above which a traced network counts as another function."""

Facts = Mapping[str, Any]
Run = Callable[[tuple[Tensor, ...]], list[Tensor]]
"""Runs an exported policy: inputs to outputs."""


def encode(function: PolicyFunction, to: Format, facts: Facts) -> bytes:
    """The bytes of the file; InputError where the network cannot be traced, or a package is missing."""
    if to == "safetensors":
        return bytes(tensor_file.encode(KIND, VERSION, function.policy.state_dict(), facts))
    with _quiet():
        try:
            data, run = (_to_onnx if to == "onnx" else _to_torchscript)(function, json.dumps(facts))
        except InputError:
            raise
        except Exception as error:  # a tracer may raise anything
            reason = (str(error).strip().splitlines() or [""])[0][:200]
            raise InputError(
                f"this network cannot be traced for {to} ({type(error).__name__}: {reason}): export it to safetensors"
            ) from None
        if run is not None:
            _check(function, run, to)
    return data


def _to_torchscript(function: PolicyFunction, facts: str) -> tuple[bytes, Run]:
    traced = torch.jit.trace(function, example_inputs(function, EXAMPLE_ROWS), check_trace=False)
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer, _extra_files={f"{FACTS}.json": facts})
    return buffer.getvalue(), lambda inputs: list(traced(*inputs))


def _to_onnx(function: PolicyFunction, facts: str) -> tuple[bytes, Run | None]:
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"ONNX needs the package {missing[0]}: pip install 'worldloom[export]' adds it")
    names = [info.name for info in function.inputs]
    example, rows = example_inputs(function, EXAMPLE_ROWS), torch.export.Dim("rows")
    shapes = {"inputs": tuple({0: rows} for _ in names)}
    program = torch.onnx.export(
        torch.export.export(function, example, dynamic_shapes=shapes),
        input_names=names,
        output_names=[info.name for info in function.outputs],
        verbose=False,
        dynamo=True,
    )
    assert program is not None
    program.model.metadata_props[FACTS] = facts
    for value in (*program.model.graph.inputs, *program.model.graph.outputs):
        if value.shape is not None:
            value.shape[0] = "rows"  # the exporter has names of its own
    buffer = io.BytesIO()
    program.save(buffer)  # type: ignore[arg-type]  # a file object is accepted too
    data = buffer.getvalue()
    if importlib.util.find_spec("onnxruntime") is None:
        return data, None
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])

    def run(inputs: tuple[Tensor, ...]) -> list[Tensor]:
        arrays = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        return [torch.from_numpy(output) for output in session.run(None, arrays)]

    return data, run


def example_inputs(function: PolicyFunction, rows: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Random inputs of a policy, [rows, ...] each; all actions are allowed."""
    generator = torch.Generator().manual_seed(seed)
    inputs = []
    for number, info in enumerate(function.inputs):
        shape = (rows, *info.shape)
        choices = [spec.choices for spec in function.observations.values()][number : number + 1]
        if choices and choices[0]:
            sizes = torch.tensor(choices[0]).view(info.shape)
            inputs.append((torch.rand(shape, generator=generator) * sizes).to(info.dtype))
        elif info.dtype.is_floating_point:
            inputs.append(torch.randn(shape, generator=generator).to(info.dtype))
        elif info.dtype == torch.uint8:
            inputs.append(torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator))
        else:
            inputs.append(torch.ones(shape, dtype=info.dtype))
    return tuple(inputs)


def _check(function: PolicyFunction, run: Run, to: Format) -> None:
    """InputError where ``run`` is another function than the policy, as with Python branches in a custom module."""
    for rows in CHECKED_ROWS:
        inputs = example_inputs(function, rows, seed=rows)
        try:
            outputs = run(inputs)
        except Exception:  # a fixed number of rows
            outputs = []
        same = len(outputs) == len(function.outputs) and all(
            theirs.shape == ours.shape and torch.allclose(theirs, ours, TOLERANCE, TOLERANCE)
            for theirs, ours in zip(outputs, function(*inputs), strict=True)
            if ours.is_floating_point()
        )
        if not same:
            raise InputError(
                f"this network computes something else once it is traced for {to}, with {rows} rows: "
                "keep Python numbers and branches that depend on its inputs out of it, or export it to safetensors"
            )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No gradients, and no messages of PyTorch's exporters about their own deprecation or optional packages."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
