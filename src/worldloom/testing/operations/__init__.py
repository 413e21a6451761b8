"""Random operations on a simulation, compared after each of them on several devices.

``python -m worldloom.testing.operations`` runs a campaign. :class:`Subject` is one simulation, :data:`OPERATIONS` what
can be done to it, and :func:`run` compares a :class:`Sequence` of operations.
"""

from worldloom.testing.operations import inspection, running, states  # noqa: F401 - they fill the table
from worldloom.testing.operations.operation import OPERATIONS
from worldloom.testing.operations.sequence import Failure, Sequence, draw, run, shrink
from worldloom.testing.operations.subject import Subject

__all__ = ["OPERATIONS", "Failure", "Sequence", "Subject", "draw", "run", "shrink"]
