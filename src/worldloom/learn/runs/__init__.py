"""A training as a whole, on disk: the request, the run folder, checkpoints, resuming, the Ray launcher, and opening
a saved run.

Only ``export`` and ``experiments`` import it in learn.
"""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__,
        "worldloom.learn.runs.training_run",
        "FORMAT",
        "Resume",
        "request_from_dict",
        "request_to_dict",
        "run_training",
        Outcome="TrainingResult",
        Request="TrainingRequest",
        in_world="resolve_world",
    )
