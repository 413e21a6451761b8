"""The three ways to run one world, side by side: interpreted, compiled, and compiled without fusion."""

import numpy as np

import worldloom as wl


def columns(sim: wl.Simulation) -> dict[str, np.ndarray]:
    """A copy of every column, by ``Table.name``."""
    return {c.name: np.array(c.numpy()) for t in sim.tables.values() for c in t}


def agree(definition: wl.Definition, steps: int) -> list[dict[str, np.ndarray]]:
    """Step three worlds with random actions; every column must agree bit for bit after every step. Returns what the interpreter had."""
    runs = [
        wl.Simulation(definition, 3, "python", seed=5),
        wl.Simulation(definition, 3, "cpu", seed=5, fuse=True),
        wl.Simulation(definition, 3, "cpu", seed=5, fuse=False),
    ]
    random = np.random.default_rng(0)
    history = []
    for step in range(steps + 1):
        seen = [columns(sim) for sim in runs]
        for name, expected in seen[0].items():
            for how, other in zip(("fused", "unfused"), seen[1:], strict=True):
                assert np.array_equal(expected, other[name], equal_nan=expected.dtype.kind == "f"), (
                    f"{name} differs after step {step} ({how}):\n{expected.tolist()}\n{other[name].tolist()}"
                )
        history.append(seen[0])
        actions = {
            name: random.integers(0, 2, size=runs[0].tables[t][f.name].shape)
            for name, (t, f) in definition.actions().items()
        }
        for sim in runs:
            sim.step(actions or None)
    assert all(sim.errors() == [] for sim in runs)
    return history
