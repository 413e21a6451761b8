"""Which settings may change during a training, and how: as numbers on the device, or with a new trainer."""

from __future__ import annotations

from collections.abc import Sequence

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.search.apply_settings import setting_type
from worldloom.learn.experiments.search.dimension import Choices, Dimension
from worldloom.learn.runs.training_request import TrainingRequest

REBUILT = (
    *("epochs", "minibatches", "normalize_advantages", "max_kl"),
    *("batch_size", "target_update", "epsilon_start"),
)
"""Settings that a trainer has for good, but no tensor of a checkpoint depends on: they change with a new trainer."""

CRITIC_RANGE = ("v_min", "v_max")
"""Settings that say what the outputs of distributional critics mean, which a checkpoint holds."""


def check_changeable(space: Sequence[Dimension], request: TrainingRequest) -> None:
    """InputError for a setting that cannot change during a training."""
    for dimension in space:
        setting = dimension.name.rpartition(":")[2]
        learned = setting == "temperature" and getattr(request.config, "auto_temperature", False)
        fixed = learned or setting in CRITIC_RANGE or "." in setting
        if setting not in REBUILT and (fixed or setting_type(request, dimension.name) is not float):
            known = ", ".join(name for name in REBUILT if hasattr(request.config, name))
            raise InputError(
                f"--search {dimension.name}: it cannot change during a training; "
                f"search real numbers of the algorithm, such as learning_rate, or {known}"
            )
    if sets_learning_rate(space) and request.config.schedule != "constant":
        raise InputError(
            f"the learning rate is searched, and schedule {request.config.schedule} would overwrite it: "
            "use schedule constant"
        )


def is_number(name: str, request: TrainingRequest) -> bool:
    """Whether a setting is a number that changes without a new trainer: graphs read it from the device."""
    setting = name.rpartition(":")[2]
    fixed = (*REBUILT, *type(request.config).fixed_numbers)
    return setting_type(request, name) is float and setting not in fixed


def sets_learning_rate(space: Sequence[Dimension]) -> bool:
    """Whether the learning rate of a policy is searched."""
    return any(dimension.name.rpartition(":")[2] == "learning_rate" for dimension in space)


def as_floats(space: Sequence[Dimension], request: TrainingRequest) -> tuple[Dimension, ...]:
    """``space`` with floats among the choices of real numbers, as trainers report them; InputError for a schedule."""
    for d in space:
        if isinstance(d, Choices) and setting_type(request, d.name) is float:
            for value in d.values:
                if not isinstance(value, (int, float)):
                    raise InputError(f"--search {d.name}: members change numbers, and {value} is none; give numbers")
    return tuple(
        Choices(d.name, tuple(map(float, d.values)))
        if isinstance(d, Choices) and setting_type(request, d.name) is float
        else d
        for d in space
    )
