"""One world in three modes, compared: interpreted, compiled, and compiled without fusion."""

import numpy as np
from thorough import THOROUGH

import worldloom as wl


def columns(sim: wl.Simulation) -> dict[str, np.ndarray]:
    """A copy of every column, by ``Table.name``."""
    return {c.name: np.array(c.numpy()) for t in sim.tables.values() for c in t}


def agree(definition: wl.Definition, steps: int) -> list[dict[str, np.ndarray]]:
    """Step three worlds with random actions and compare all columns bit for bit; returns the interpreter's columns.

    ``make test-thorough`` compares the code without fusion too; see ``test_fusion.py``.
    """
    runs = [wl.Simulation(definition, 3, "python", seed=5), wl.Simulation(definition, 3, "cpu", seed=5, fuse=True)]
    if THOROUGH:
        runs.append(wl.Simulation(definition, 3, "cpu", seed=5, fuse=False))
    random = np.random.default_rng(0)
    history = []
    for step in range(steps + 1):
        current = [columns(sim) for sim in runs]
        for name, expected in current[0].items():
            for mode, other in zip(("fused", "unfused"), current[1:], strict=False):
                assert np.array_equal(expected, other[name], equal_nan=expected.dtype.kind == "f"), (
                    f"{name} differs after step {step} ({mode}):\n{expected.tolist()}\n{other[name].tolist()}"
                )
        history.append(current[0])
        actions = {
            name: random.integers(0, 2, size=runs[0].tables[t][f.name].shape)
            for name, (t, f) in definition.actions().items()
        }
        for sim in runs:
            sim.step(actions or None)
    assert all(sim.errors() == [] for sim in runs)
    return history
