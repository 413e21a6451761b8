"""Systems for the entities with one action: invalid actions count as choice 0, also in the lists of rows on a GPU."""

from __future__ import annotations

import pytest
from acting_worlds import acting_world, columns, invalid_actions

import worldloom as wl
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.mark.parametrize("autoreset", ["disabled", "same_step"])
@pytest.mark.parametrize("together", [False, True])
def test_an_invalid_action_runs_the_systems_of_choice_0(together: bool, autoreset: str) -> None:
    """Choices beyond the last, negative ones and those of agents that are not active, on every device."""
    definition = acting_world(together)
    python, cpu, text = (
        wl.Simulation(definition, 5, device, seed=0, autoreset=autoreset) for device in ("python", "cpu", "cpu")
    )
    machine = Machine(text)
    for step in range(5):
        actions = invalid_actions(step, 5)
        python.step(actions)
        cpu.step(actions)
        text._assign_actions(actions)
        machine.step()
        expected = columns(python)
        assert columns(cpu) == expected
        assert columns(text) == expected
    assert sum(expected["World.rests"]) > sum(expected["World.moves"]) > 0 and sum(expected["World.begun"]) > 0
