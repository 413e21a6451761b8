"""The definition of a kitchen: layouts, size and form of observations."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.simulation import Simulation
from worldloom.envs.overcooked.features import PLAYER_FEATURES, feature_count, feature_systems, features_component
from worldloom.envs.overcooked.kinds import make_kinds
from worldloom.envs.overcooked.layout import MAX_CELLS, Layout
from worldloom.envs.overcooked.planes import planes_component, planes_system
from worldloom.envs.overcooked.rendering import draw_function
from worldloom.envs.overcooked.rules import rule_systems, start_system
from worldloom.envs.overcooked.tables import Size, layout_tables, size_of

MAX_PLAYERS = 64
MAX_POTS = 64
HORIZON = 400
DTYPES = {"uint8": wl.uint8, "float32": wl.float32}


def define_kitchen(
    id: str,
    layouts: Sequence[Layout],
    *,
    players: int = 0,
    size: tuple[int, int] = (0, 0),
    pots: int = 0,
    observation: str = "planes",
    dtype: str = "auto",
    old_dynamics: bool = False,
    horizon: int = HORIZON,
) -> Definition:
    """The definition of Overcooked in one or several layouts.

    Args:
        id: The id of the world.
        layouts: The layouts. With several, every episode draws one, unless the configuration ``layout_index`` chooses.
        players: Players, 1 to 64; 0 for as many as the first layout has. Further players start on the free floor.
        size: Width and height of the largest grid; 0 for that of the layouts.
        pots: The largest number of pots; 0 for that of the layouts.
        observation: ``planes``, the lossless encoding, or ``features``.
        dtype: ``uint8`` or ``float32``; ``auto`` is ``uint8`` for planes. Features are ``float32``.
        old_dynamics: Whether full pots cook by themselves.
        horizon: Steps of an episode; the configuration ``max_steps``.
    """
    needed = size_of(layouts)
    fixed = Size(size[0] or needed.width, size[1] or needed.height, players or needed.players, pots or needed.pots)
    _check(fixed, observation, dtype)
    planes = observation == "planes"
    if old_dynamics:
        require_three_ingredients(layouts)
    tables = layout_tables(layouts, fixed, targets=not planes)
    number = DTYPES["uint8" if dtype == "auto" else dtype]
    component = (
        planes_component(fixed, number, int(tables["cook_times"].max())) if planes else features_component(fixed)
    )
    kinds = make_kinds(fixed, old_dynamics, tables, component, 0 if planes else PLAYER_FEATURES)
    return Definition(
        id,
        kinds.Kitchen,
        {kinds.Player: fixed.players},
        reset=(start_system(kinds, fixed, len(layouts)),),
        step=tuple(rule_systems(kinds, fixed)),
        observe=(planes_system(kinds, fixed, number),) if planes else tuple(feature_systems(kinds, fixed)),
        max_steps=horizon,
        doc=f"Overcooked: players cook soups and serve them together, in {_names(layouts)}.",
        render=draw_function(fixed),
        frames_per_second=8,
        limits={"layout_index": (-1, len(layouts) - 1), "shaping_episodes": (0, inf)},
    ).checked


def set_layouts(sim: Simulation, layouts: Sequence[Layout]) -> None:
    """Replace the layouts of a simulation without compiling again, and reset all worlds.

    Args:
        sim: The simulation. Its size must be sufficient for the layouts.
        layouts: As many layouts as its world was built with; or, if it was built with one, a layout for each world.
    """
    size, built = sim.definition.world.size, sim.world.terrain.shape[-2]
    if len(layouts) not in (built, sim.num_worlds if built == 1 else built):
        raise InputError(
            f"this world was built with {built} layouts and has {sim.num_worlds} worlds: give {built} layouts"
            + (f" or {sim.num_worlds}, not {len(layouts)}" if built == 1 else f", not {len(layouts)}")
        )
    features = sim["Player"].sight.shape[2:] == (feature_count(size.players),)
    for name, rows in layout_tables(layouts, size, targets=features).items():
        sim.set_config(name, rows if len(layouts) == built else rows[:, None])
    sim.reset()


def require_three_ingredients(layouts: Sequence[Layout]) -> None:
    """Refuse layouts for old dynamics in which only full pots cook."""
    for layout in layouts:
        short = [order for order in layout.menu.orders if len(order) < 3]
        if short:
            raise InputError(
                f"layout '{layout.name}' has orders of fewer than 3 ingredients ({', '.join(short)}), "
                "which old dynamics cannot cook: use another layout or old_dynamics=false"
            )


def _names(layouts: Sequence[Layout]) -> str:
    return layouts[0].name if len(layouts) == 1 else f"{len(layouts)} layouts"


def _check(size: Size, observation: str, dtype: str) -> None:
    for name, value, most in (("players", size.players, MAX_PLAYERS), ("pots", size.pots, MAX_POTS)):
        if not 1 <= value <= most:
            raise InputError(f"Overcooked has 1 to {most} {name}, not {value}")
    if size.cells > MAX_CELLS:
        raise InputError(f"Overcooked has up to {MAX_CELLS} cells, not {size.width} x {size.height}")
    if observation not in ("planes", "features"):
        raise InputError(f"the observation of Overcooked is 'planes' or 'features', not '{observation}'")
    if dtype not in ("auto", *DTYPES):
        raise InputError(f"the dtype of Overcooked is 'auto', 'uint8' or 'float32', not '{dtype}'")
    if observation == "features" and dtype == "uint8":
        raise InputError("features of Overcooked can be negative and need dtype=float32; planes may be uint8")
