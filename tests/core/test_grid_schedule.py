"""When the grids of neighbour queries are built."""

from __future__ import annotations

from near_world import MEADOW, Bug, Dot, Field, Loner, live, look, move, scatter, survey

import worldloom as wl
from worldloom.core.model.grid import Grid
from worldloom.core.schedule.entries import FINISHED, RESET_REQUESTED, GridNode, SystemNode
from worldloom.core.schedule.schedule import plan
from worldloom.core.tools.compare import compare


def labels(definition: wl.Definition, phase: str, autoreset: str = "same_step") -> list[str]:
    entries = getattr(plan(definition, autoreset, checks=False), phase)  # type: ignore[arg-type]
    return [e.label for e in entries if isinstance(e, GridNode) or (isinstance(e, SystemNode) and not e.system.engine)]


GRIDS = {"Dot": "grid of Dot by position", "deep": "grid of Dot by deep", "Bug": "grid of Bug by position"}


def test_a_grid_is_made_once_while_nothing_changes():
    assert labels(MEADOW, "step")[:9] == [
        GRIDS["Dot"],
        "look(Dot)",
        GRIDS["deep"],
        "look_deep(Dot)",
        GRIDS["Bug"],
        "grid of Loner by place",
        "look_around(Dot)",
        "jump_about(Dot)",
        "survey",
    ]


def test_a_grid_is_made_anew_when_places_or_numbers_change():
    changed = wl.register(
        "Neighbours-v1",
        world=Field,
        entities={Dot: 4, Bug: wl.UpTo(4), Loner: 1},
        step=[survey, live, survey, look, move, look],
    )
    assert labels(changed, "step") == [
        GRIDS["Bug"], "survey", "live(Bug)", GRIDS["Bug"], "survey",
        GRIDS["Dot"], "look(Dot)", "move(Dot)", GRIDS["Dot"], "look(Dot)",
    ]  # fmt: skip


def test_a_callable_may_have_moved_anything():
    called = wl.register("Neighbours-v2", world=Field, entities={Dot: 4}, step=[look, lambda simulation: None, look])
    assert labels(called, "step").count(GRIDS["Dot"]) == 2


def test_after_a_reset_only_the_worlds_that_were_reset_get_new_grids():
    shown = wl.register(
        "Neighbours-v3", world=Field, entities={Dot: 4}, reset=[scatter], step=[move], observe=[look], max_steps=3
    )
    schedule = plan(shown, "same_step", checks=False)
    assert [e.mask for e in schedule.step if isinstance(e, GridNode)] == [None, FINISHED]
    assert [e.mask for e in schedule.reset if isinstance(e, GridNode)] == [RESET_REQUESTED]
    late = plan(shown, "next_step", checks=False)
    assert [e.mask for e in late.step if isinstance(e, GridNode)] == [None]
    assert compare(shown, num_worlds=3, steps=8) is None


def test_grids_are_as_fine_as_there_may_be_entities():
    assert [Grid("Dot", "position", 2, n).cells for n in (1, 3, 4, 8, 9, 1000, 10**6)] == [1, 1, 2, 2, 3, 31, 64]
    assert [Grid("Dot", "position", 3, n).cells for n in (1, 7, 8, 27, 1000, 10**6)] == [1, 1, 2, 3, 10, 16]


def test_what_a_grid_keeps_is_not_shown():
    """Its columns mean nothing between two steps."""
    with wl.Simulation(MEADOW, 1, "python", seed=0) as simulation:
        assert not [c.name for c in simulation.world if "__position__" in c.name]
