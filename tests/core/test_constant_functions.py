"""Elementary functions of constants: the compiler must not fold them, with other last bits than the library's."""

import numpy as np

import worldloom as wl

NUMBERS = np.random.default_rng(7).uniform(0.1, 8.0, 96).round(4).tolist()
NAMES = ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "log2", "log10", "atan", "cbrt")


class Row(wl.Entity):
    found: wl.Array(float, 96)


class Table(wl.World):
    k: int


def test_interpreted_and_compiled_agree(tmp_path, monkeypatch):
    lines = [f"    row.found[{i}] = wl.{NAMES[i % len(NAMES)]}({number})" for i, number in enumerate(NUMBERS)]
    (tmp_path / "constant_functions.py").write_text(
        "\n".join(["import worldloom as wl", "", "def rule(row, world):", *lines, ""])
    )
    monkeypatch.syspath_prepend(tmp_path)
    from constant_functions import rule

    rule.__annotations__ = {"row": Row, "world": Table}
    definition = wl.Definition("Constants-v0", world=Table, entities={Row: 1}, step=[wl.system(rule)])
    seen = []
    for device in ("python", "cpu"):
        sim = wl.Simulation(definition, 1, device)
        sim.step()
        seen.append(sim[Row].found.numpy().copy())
    assert np.array_equal(*seen)
