"""The COVID-19 economy: governors of 51 states set stringency levels, and a federal planner pays subsidies.

It is a simulation for research on learning. It is no tool for policy making, and its outcomes are no forecasts.

One step is a day. Governors trade deaths against work. Their observations and incomes depend on the planner's
subsidies, which the planner pays back with interest. The models of infections and of unemployment are fitted to data of
2020 and 2021.
"""

from math import inf

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.covid import epidemic, incomes, observations
from worldloom.envs.covid.data import LEVELS, NOTICE, Parameters
from worldloom.envs.covid.entities import Kinds, make_kinds
from worldloom.envs.covid.rendering import renderer
from worldloom.envs.covid.replay_data import SUBSIDY_LEVELS, Mode, last_known_day, paid_levels

__all__ = ["Mode", "economy", "last_known_day", "paid_levels", "parameters_of"]

EPISODE_DAYS = 540
FRAMES_PER_SECOND = 15  # days per second of video

_PARAMETERS_BY_ID: dict[str, Parameters] = {}
"""The parameters of registered economies, by id."""

LIMITS = {
    **{
        name: (0.0, 1.0)
        for name in ("gamma", "mortality", "too_sick_to_work", "working_share", "planner_alpha", "alphas")
    },
    **{name: (1.0, inf) for name in ("subsidy_interval", "vaccine_interval", "filter_length", "population")},
    **{
        name: (0.0, inf)
        for name in (
            "action_cooldown_period",
            "subsidy_per_person",
            "vaccines_per_million",
            "health_weight",
            "planner_health_weight",
        )
    },
    **{name: (1.0e-6, inf) for name in ("reward_scale", "gdp_per_capita", "value_of_life", "lambdas")},
    "mode": (0, 2),
    "policy": (1, LEVELS),
}
"""The least and the greatest value of configuration components, by name."""


def economy(
    parameters: Parameters,
    id: str = "CovidEconomyOf-v0",
    *,
    mode: Mode = Mode.MODEL,
    episode_length: int = EPISODE_DAYS,
    subsidy_levels: int = SUBSIDY_LEVELS,
    replace: bool = False,
) -> wl.Definition:
    """Register the economy of a country as ``id`` and return its definition.

    All numbers are configuration, with the values of the published training as defaults. The arguments fix shapes,
    apart from ``mode`` and ``episode_length``, which are defaults too.

    Args:
        parameters: The country: n states, the fitted models and the histories.
        id: The id of the world.
        mode: Default of the configuration ``mode``.
        episode_length: Days per episode.
        subsidy_levels: The greatest level of subsidies.
        replace: Whether to replace a world of this id that has other rules.
    """
    _check_arguments(parameters, mode, episode_length, subsidy_levels)
    kinds = make_kinds(parameters, mode, subsidy_levels)
    data = "synthetic data" if parameters.synthetic else "real data"
    made = wl.register(
        id,
        world=kinds.Country,
        entities={kinds.Governor: kinds.states, kinds.Planner: 1},
        reset=[epidemic.country_start_system(kinds), *epidemic.agent_start_systems(kinds)],
        step=_step_systems(kinds),
        observe=[observations.look_system(kinds), observations.look_over_system(kinds)],
        max_steps=episode_length,
        doc=f"{kinds.states} governors and a planner in a pandemic ({data}); no tool for policy making.",
        render=renderer(parameters),
        notice=NOTICE,
        limits=LIMITS
        | {
            "max_steps": (1, parameters.filter_length),
            "start_day": (kinds.delay - 1, min(parameters.num_days, parameters.filter_length) - 1),
        },
        frames_per_second=FRAMES_PER_SECOND,
        replace=replace,
    )
    _PARAMETERS_BY_ID[id] = parameters
    return made


def _step_systems(kinds: Kinds) -> list[System]:
    return [
        epidemic.decide_system(kinds),
        epidemic.spread_system(kinds),
        epidemic.repeat_system(kinds),
        incomes.produce_system(kinds),
        incomes.plan_system(kinds),
    ]


def _check_arguments(parameters: Parameters, mode: Mode, episode_length: int, subsidy_levels: int) -> None:
    if not 1 <= episode_length <= parameters.filter_length:
        raise wl.InputError(
            f"an episode of the economy has 1 to {parameters.filter_length} days, "
            f"the length of the unemployment filters, not {episode_length}"
        )
    if mode not in set(Mode):
        known = ", ".join(f"Mode.{known.name}" for known in Mode)
        raise wl.InputError(f"there is no mode {mode!r} of the economy: take one of {known}")
    if subsidy_levels < 1:
        raise wl.InputError(f"there must be at least one level of subsidies, not {subsidy_levels}")


def parameters_of(definition: wl.Definition) -> Parameters:
    """The parameters that :func:`economy` built a world from; InputError for other worlds."""
    if definition.id not in _PARAMETERS_BY_ID:
        raise wl.InputError(
            f"world '{definition.id}' is no COVID-19 economy: name one, such as CovidEconomySynthetic-v0"
        )
    return _PARAMETERS_BY_ID[definition.id]
