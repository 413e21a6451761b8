"""Entities, groups of components, worlds and queries: declarations, inheritance and errors."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
import warp as wp

import worldloom as wl
from worldloom.core.model.entity import ENGINE_FIELDS
from worldloom.core.model.fields import Role


class Moving(wl.Components):
    place: wl.vec2
    speed: wl.vec2 = (1.0, 0.5)


class Named(wl.Components):
    label: int = 7


class Ball(wl.Entity, Moving, Named):
    """Its annotations are strings here, as under ``from __future__ import annotations``."""

    radius: float = 0.5
    mate: wl.Ref("Ball")
    limit: ClassVar[int] = 3


class HeavyBall(Ball):
    mass: float = 2.0
    radius: float = 1.5


class Room(wl.World):
    width: wl.Config = 4.0
    heat: float


class Hall(Room):
    doors: int = 2


def test_components_are_in_order_bases_last_to_first() -> None:
    assert set(Ball.fields) == {"place", "speed", "label", "radius", "mate"}
    assert list(Ball.fields)[-2:] == ["radius", "mate"]
    assert list(HeavyBall.fields) == [*Ball.fields, "mass"]


def test_components_have_types_and_defaults() -> None:
    assert Ball.fields["place"].dtype is wp.vec2
    assert Ball.fields["speed"].default.tolist() == [1.0, 0.5]
    assert Ball.fields["label"].default == 7
    assert Ball.fields["mate"].ref == "Ball" and Ball.fields["mate"].default == -1
    assert Ball.fields["radius"].default == 0.5
    assert HeavyBall.fields["radius"].default == 1.5


def test_class_variables_are_no_components() -> None:
    assert "limit" not in Ball.fields


def test_a_class_knows_where_it_was_written() -> None:
    lines = Path(__file__).read_text().splitlines()
    for kind in (Ball, Room):
        file, line = kind._place
        assert Path(file) == Path(__file__)
        assert lines[line - 1].startswith(f"class {kind.__name__}")


def test_worlds_have_the_engine_fields_and_inherit() -> None:
    assert set(ENGINE_FIELDS) <= set(Hall.fields)
    assert Hall.fields["width"].role is Role.CONFIG
    assert Hall.fields["doors"].default == 2
    assert "doors" not in Room.fields


def test_has_matches_what_has_all_groups() -> None:
    query = wl.Has(Moving, Named)
    assert query.matches(Ball) and query.matches(HeavyBall)
    assert not query.matches(Moving)
    assert set(query.fields) == {"place", "speed", "label"}
    assert query.__name__ == "Has(Moving, Named)"
    assert not wl.Has(Room).matches(Ball)


@pytest.mark.parametrize("wrong", [(), (5,), (Moving, "Named")])
def test_has_takes_groups_of_components(wrong: tuple) -> None:
    with pytest.raises((TypeError, wl.DefinitionError), match=r"wl\.Has takes classes derived from wl\.Components"):
        wl.Has(*wrong)


@pytest.mark.parametrize("name", ["id", "ref", "terminate", "truncate", "active", "_hidden", "two__parts"])
def test_names_that_the_engine_keeps(name: str) -> None:
    with pytest.raises(wl.DefinitionError, match=f"'{name}' is a name reserved for the engine"):
        type("Wrong", (wl.Entity,), {"__annotations__": {name: float}})


def test_an_annotation_that_names_nothing() -> None:
    with pytest.raises(wl.DefinitionError, match="the annotation of 'x' cannot be evaluated") as caught:

        class Wrong(wl.Entity):
            x: Velocity  # noqa: F821

    lines = Path(__file__).read_text().splitlines()
    assert "x: Velocity" in lines[caught.value.line - 1]


class Mover(wl.Components):
    speed: float = 1.0


class Fast(Mover):
    speed: float = 5.0


class Flying(Mover):
    height: float


def test_the_nearest_class_gives_the_default() -> None:
    """Python's own order of bases: Flying, Fast, Mover."""

    class Bird(wl.Entity, Flying, Fast):
        wings: int = 2

    assert Bird.fields["speed"].default == 5.0 and set(Bird.fields) == {"speed", "height", "wings"}
