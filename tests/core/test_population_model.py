"""Random programs of spawns, despawns, references and resets: the engine agrees with a model in plain Python."""

from __future__ import annotations

import functools

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from population_run import MOODS, STEPS_PER_MOOD, Mood, Run
from population_worlds import VARIANTS, Rules
from thorough import THOROUGH, sample

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")

MOODS_PER_PROGRAM, PROGRAMS = 5, 50 if THOROUGH else 12
WORLDS = 3
TRIED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


@functools.cache
def simulation(rules: Rules, device: str, **options: bool) -> wl.Simulation:
    return wl.Simulation(rules.definition, WORLDS, device, seed=0, autoreset=rules.autoreset, **options)


@pytest.mark.parametrize(
    ("rules", "device", "programs"),
    [
        *((rules, "cpu", PROGRAMS) for rules in sample(VARIANTS, 2)),
        *((rules, "python", 2) for rules in VARIANTS),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_the_engine_is_the_model(rules: Rules, device: str, programs: int) -> None:
    steps = 0

    @settings(TRIED, max_examples=programs)
    @given(st.lists(MOODS, min_size=MOODS_PER_PROGRAM, max_size=MOODS_PER_PROGRAM))
    def try_programs(moods: list[Mood]) -> None:
        nonlocal steps
        run = Run(rules, simulation(rules, device))
        run.play(moods)
        steps += run.steps

    try_programs()
    assert steps == programs * MOODS_PER_PROGRAM * STEPS_PER_MOOD
