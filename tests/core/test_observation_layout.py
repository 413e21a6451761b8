"""Declarations of channels, sets of entities, masks and observations of a critic."""

import pytest

import worldloom as wl
from worldloom.core.base.errors import DefinitionError


def test_declarations_are_part_of_the_field():
    class Player(wl.Entity):
        screen: wl.Persistent(wl.Observation(3, 8, 8, channels="first"))
        others: wl.Observation(16, 5, entities=True, mask="present")
        present: wl.Observation(16, dtype=bool)
        secret: wl.Observation(wl.Discrete(4), critic=True)

    layouts = {name: field.layout for name, field in Player.fields.items()}
    assert layouts["screen"].channels == "first" and layouts["others"].channels == "last"
    assert layouts["others"].entities and layouts["others"].mask == "present" and not layouts["present"].entities
    assert layouts["secret"].critic and not layouts["others"].critic


def test_declarations_do_not_change_the_fingerprint_of_a_world():
    def definition(**layout) -> wl.Definition:
        class Player(wl.Entity):
            move: wl.Action(wl.Discrete(2))
            sight: wl.Observation(4, 3, **layout)

        return wl.Definition("Layout-test", wl.World, {Player: 1})

    assert definition().hash == definition(entities=True).hash == definition(critic=True).hash


@pytest.mark.parametrize(
    ("shape", "layout", "words"),
    [
        ((3, 8, 8), {"channels": "middle"}, "channels is 'first' or 'last', not 'middle'"),
        ((3, 8), {"channels": "first"}, r"channels applies to images of three dimensions, not to the shape \(3, 8\)"),
        ((3, 8, 8), {"entities": True}, r"a set of entities has the shape \(entities, numbers\), not \(3, 8, 8\)"),
        ((3, 8), {"mask": "present"}, "mask names the component .* is 'present'"),
        ((3, 8), {"entities": True, "mask": 3}, "mask names the component .* is 3"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(shape, layout, words):
    with pytest.raises(DefinitionError, match=words) as error:
        wl.Observation(*shape, **layout)
    assert "test_observation_layout.py" in str(error.value)
