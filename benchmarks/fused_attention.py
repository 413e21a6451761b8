"""One attention layer over small sets: PyTorch's layers and the fused kernels, forward and backward.

python benchmarks/fused_attention.py --out fused_attention.json

The rate of floating-point operations counts the matrix products of the layer, three times those of a forward pass for
both passes; attention counts the pairs of tokens of a set. It is compared with one product of large matrices.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro
import warp as wp
from rich.console import Console
from run import describe_machine, show

from worldloom.learn.networks.entities.attention import FEED_FORWARD, AttentionLayer
from worldloom.learn.networks.fused.attention import fused_layer


@dataclass
class Settings:
    """Measure an attention layer over small sets on a GPU."""

    sets: int = 61_440
    """Sets of the batch."""
    tokens: int = 17
    """Tokens of a set."""
    units: tuple[int, ...] = (64, 128, 256)
    """Units of a token."""
    heads: int = 4
    """Attention heads."""
    repeats: int = 20
    """Calls that are timed."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class LayerTime:
    """Milliseconds of a layer.

    Attributes:
        what: ``PyTorch`` or ``fused``.
        both: Forward and backward pass.
        share: The rate of both over that of a large product in bfloat16.
    """

    what: str
    units: int
    forward: float
    both: float
    teraflops: float
    share: float


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    for _ in range(3):
        call()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repeats


def product_rate(repeats: int) -> float:
    """Operations per second of a product in bfloat16."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2.0 * 8192**3 / milliseconds(lambda: a @ b, repeats) * 1e3


def measure(settings: Settings, units: int, matrix_rate: float) -> list[LayerTime]:
    torch.manual_seed(0)
    layer = AttentionLayer(units, settings.heads).cuda()
    shape = (settings.sets, settings.tokens, units)
    by_set = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
    present = torch.rand(shape[:2], device="cuda") < 0.7
    present[:, 0] = True
    per_token = 2 * (4 + 2 * FEED_FORWARD) * units * units + 4 * settings.tokens * units
    operations = 3.0 * settings.sets * settings.tokens * per_token

    def row(what: str, compute: Callable[[torch.Tensor], torch.Tensor], rows: list[torch.Tensor]) -> LayerTime:
        inputs, slope = rows[0].clone().requires_grad_(), rows[1]

        def forward() -> None:
            with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
                compute(inputs)

        def both() -> None:
            with torch.autocast("cuda", torch.bfloat16):
                outputs = compute(inputs)
            torch.autograd.grad(outputs, [inputs, *layer.parameters()], slope)

        alone, time = milliseconds(forward, settings.repeats), milliseconds(both, settings.repeats)
        rate = operations / time * 1e3
        return LayerTime(what, units, alone, time, rate * 1e-12, rate / matrix_rate)

    by_token, first = [rows.transpose(0, 1).contiguous() for rows in by_set], present.t().contiguous()
    return [
        row("PyTorch", lambda inputs: layer(inputs, present), by_set),
        row("fused", lambda inputs: fused_layer(layer, inputs, first), by_token),
    ]


def main(settings: Settings) -> None:
    rate = product_rate(settings.repeats)
    rows = [row for units in settings.units for row in measure(settings, units, rate)]
    console = Console()
    show(
        console, f"{settings.sets:,} sets of {settings.tokens} tokens, products {rate:.3g}/s", [asdict(r) for r in rows]
    )
    if settings.out is not None:
        report = {
            "machine": describe_machine(wp.get_device("cuda:0")),
            "product_rate": rate,
            "rows": [asdict(row) for row in rows],
        }
        settings.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Settings))
