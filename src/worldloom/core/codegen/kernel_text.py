"""The parts of a kernel's text, before the kernel is written."""

from __future__ import annotations

from dataclasses import dataclass

from worldloom.core.codegen.column_access import Arguments


@dataclass(frozen=True)
class KernelText:
    """A kernel before it is written.

    Attributes:
        lines: The body, run by every thread on CUDA, and inside ``loops`` on the CPU.
        arguments: The columns that it takes.
        errors, alarm: Whether it takes the buffer of faults, and the alarm of a population's overflow.
        registers: Registers per thread at most on CUDA; None for the compiler's choice.
    """

    name: str
    lines: list[str]
    arguments: Arguments
    loops: list[str]
    errors: bool = False
    alarm: bool = False
    registers: int | None = None
