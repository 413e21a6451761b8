"""What the COVID-19 economy is made of: populations, fitted models and what happened in 2020 and 2021; checked, kept in a file, found again."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import expand_home

NOTICE = (
    "This is a simulation for research on learning. It is no tool for policy making, and its outcomes are no forecasts."
)
MISSING = (
    "the data of the COVID-19 economy must be fetched first, with `pip download --no-deps ai-economist` and `worldloom fetch covid --from FILE`; "
    "CovidEconomySynthetic-v0 needs none"
)
LEVELS = 10
"""Stringency has levels 1 (nothing is closed) to this."""

_KIND, _VERSION, _MOST_BYTES = "COVID-19 data set", 1, 64 << 20


@dataclass(frozen=True, eq=False)
class Parameters:
    """All numbers of the economy of n states, as float64 unless said otherwise; row d of a history is day d after 2020-01-01.

    An instance always holds together: whatever does not is refused with an InputError when it is made. Its arrays are read-only.

    Attributes:
        states, postal: (n) Names and codes of two letters.
        population: (n) People.
        beta_slope, beta_intercept: (n) Infections per infected person and day at level L are ``intercept + slope * L``.
        gamma: Share of the infected who recover (or die) in a day.
        beta_delay: Days until a level acts on infections.
        mortality: Share of those who had the disease that died.
        lambdas: (k) Days in which the effect of a change of level on unemployment falls to 1/e, shared by all states.
        filter_weights: (n, k) Weight of each such decay in a state.
        unemployment_bias: (n) Percent.
        filter_length: Days after which a change of level is forgotten.
        gdp_per_capita: Dollars a year.
        value_of_life: Dollars.
        alphas, planner_alpha: (n) and one; fitted weight of health against the economy, 0 to 1.
        health_min, health_max, economy_min, economy_max: (n) Range of a governor's daily indices, which scales them to 0 to 1.
        planner_health_min, planner_health_max, planner_economy_min, planner_economy_max: The planner's.
        policy: (days, n) int32; level of each state, 1 to 10.
        subsidy: (days) Dollars paid to the whole country that day.
        susceptible, infected, recovered, vaccinated, deaths, unemployed: (days, n) People; NaN where it is not known.
        start_day: The day before the first step; all histories are known on it.
        synthetic: Whether the numbers are made up.
        source: Where they come from, in words.
    """

    states: tuple[str, ...]
    postal: tuple[str, ...]
    population: np.ndarray
    beta_slope: np.ndarray
    beta_intercept: np.ndarray
    gamma: float
    beta_delay: int
    mortality: float
    lambdas: np.ndarray
    filter_weights: np.ndarray
    unemployment_bias: np.ndarray
    filter_length: int
    gdp_per_capita: float
    value_of_life: float
    alphas: np.ndarray
    planner_alpha: float
    health_min: np.ndarray
    health_max: np.ndarray
    economy_min: np.ndarray
    economy_max: np.ndarray
    planner_health_min: float
    planner_health_max: float
    planner_economy_min: float
    planner_economy_max: float
    policy: np.ndarray
    subsidy: np.ndarray
    susceptible: np.ndarray
    infected: np.ndarray
    recovered: np.ndarray
    vaccinated: np.ndarray
    deaths: np.ndarray
    unemployed: np.ndarray
    start_day: int
    synthetic: bool
    source: str

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _typed(field.name, field.type, getattr(self, field.name)))
        _check(self)

    @property
    def num_states(self) -> int:
        return len(self.states)

    @property
    def num_days(self) -> int:
        """Days of the histories."""
        return len(self.policy)


def load_real() -> Parameters:
    """The published data as ``worldloom fetch covid`` kept it; InputError with what to do where it did not yet."""
    path = cache_path()
    if not path.is_file():
        raise InputError(MISSING)
    try:
        return load(path)
    except InputError as error:
        raise InputError(f"{error}; `worldloom fetch covid --from FILE` writes it anew") from None


def load_synthetic() -> Parameters:
    """A made-up country of 51 states, which needs no file; see :mod:`worldloom.envs.covid.synthetic`."""
    from worldloom.envs.covid.synthetic import synthetic

    return synthetic()


def cache_path() -> Path:
    """The file that holds the published data once it is fetched: in ``$WORLDLOOM_DATA``, or in the user's folder of caches."""
    own = os.environ.get("WORLDLOOM_DATA")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "worldloom"
    return expand_home(folder) / "covid.safetensors"


def save(parameters: Parameters, path: str | Path) -> Path:
    """Write ``parameters`` to ``path``, whole or not at all, and return the path. Folders are made where they lack."""
    import torch

    target = expand_home(path)
    values = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
    tensors = {name: torch.tensor(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    facts = {name: value for name, value in values.items() if name not in tensors}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {target.parent} cannot be made ({error.strerror}): set WORLDLOOM_DATA to another"
        ) from None
    tensor_file.write(target, _KIND, _VERSION, tensors, facts)
    return target


def load(path: str | Path) -> Parameters:
    """What :func:`save` wrote; InputError where the file is missing, altered or does not hold together."""
    target = expand_home(path)
    if target.is_file() and target.stat().st_size > _MOST_BYTES:
        raise InputError(f"{target} is too large for a {_KIND}: take another file")
    contents = tensor_file.read(target, _KIND, _VERSION)
    values = {**contents.facts, **{name: tensor.numpy() for name, tensor in contents.tensors.items()}}
    wanted = {field.name for field in fields(Parameters)}
    if set(values) != wanted:
        raise InputError(
            f"{target} cannot be used, since it lacks or has too much of {', '.join(sorted(wanted ^ set(values)))}: take another file"
        )
    try:
        return Parameters(**values)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise InputError(f"{target} cannot be used ({error}): take another file") from None


def _typed(name: str, declared: Any, value: Any) -> Any:
    """``value`` as the type that its attribute declares; arrays become read-only copies."""
    if declared == "np.ndarray":
        return _array(name, value)
    if declared == "tuple[str, ...]":
        if isinstance(value, str) or not all(isinstance(item, str) for item in value):
            raise InputError(f"'{name}' must be a list of names")
        return tuple(value)
    if declared in ("str", "bool"):
        if type(value).__name__ != declared:
            raise InputError(f"'{name}' must be a {'text' if declared == 'str' else 'truth value'}, not {value!r}")
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not np.isfinite(value)
    ):
        raise InputError(f"'{name}' must be a finite number, not {value!r}")
    if declared == "int" and value != int(value):
        raise InputError(f"'{name}' must be a whole number, not {value!r}")
    return int(value) if declared == "int" else float(value)


def _array(name: str, value: Any) -> np.ndarray:
    try:
        found = np.array(value, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"'{name}' must be an array of numbers") from None
    if name == "policy":
        if not (np.isfinite(found) & (found == np.floor(found)) & (found >= 1) & (found <= LEVELS)).all():
            raise InputError(f"'policy' must hold whole levels from 1 to {LEVELS}")
        found = found.astype(np.int32)
    found.setflags(write=False)
    return found


_PER_STATE = (
    "population",
    "beta_slope",
    "beta_intercept",
    "unemployment_bias",
    "alphas",
    "health_min",
    "health_max",
    "economy_min",
    "economy_max",
)
_HISTORIES = ("susceptible", "infected", "recovered", "vaccinated", "deaths", "unemployed")


def _check(p: Parameters) -> None:
    """InputError where the parts do not fit together."""
    n, days, k = len(p.states), len(p.policy), len(np.atleast_1d(p.lambdas))
    if n == 0 or len(set(p.states)) != n or len(set(p.postal)) != n:
        raise InputError(
            f"every state needs a name and a code of its own, but there are {n} names and {len(set(p.postal))} codes"
        )
    shapes = {**dict.fromkeys(_PER_STATE, (n,)), "lambdas": (k,), "filter_weights": (n, k), "subsidy": (days,)}
    shapes |= dict.fromkeys(("policy", *_HISTORIES), (days, n))
    for name, shape in shapes.items():
        found = getattr(p, name)
        if found.shape != shape:
            raise InputError(f"'{name}' has the shape {found.shape}, but {n} states and {days} days need {shape}")
        if name not in _HISTORIES and not np.isfinite(found).all():
            raise InputError(f"'{name}' must hold finite numbers only")
    if not p.beta_delay >= 1 or not p.beta_delay - 1 <= p.start_day < days:
        raise InputError(
            f"'start_day' is {p.start_day}, but must lie from day {p.beta_delay - 1}, when the first level acts, to day {days - 1}"
        )
    if p.start_day >= p.filter_length:
        raise InputError(
            f"'filter_length' is {p.filter_length}, but what happened up to the start day {p.start_day} must not be forgotten yet: make it longer"
        )
    for name in _HISTORIES:
        row = getattr(p, name)[p.start_day]
        if not (np.isfinite(row) & (row >= 0.0)).all():
            raise InputError(f"'{name}' must be known and not negative on the start day {p.start_day}")
    for name in ("population", "lambdas", "gamma", "filter_length", "gdp_per_capita", "value_of_life"):
        if not (np.asarray(getattr(p, name)) > 0).all():
            raise InputError(f"'{name}' must be greater than 0")
    for name in ("gamma", "mortality", "alphas", "planner_alpha"):
        share = np.asarray(getattr(p, name))
        if not ((share >= 0.0) & (share < 1.0)).all():
            raise InputError(f"'{name}' must lie between 0 and 1")
    for name in ("health", "economy", "planner_health", "planner_economy"):
        if not (np.asarray(getattr(p, f"{name}_min")) < getattr(p, f"{name}_max")).all():
            raise InputError(f"'{name}_min' must be less than '{name}_max' everywhere")
