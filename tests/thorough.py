"""Whether tests run all of their cases: ``make test`` runs a fixed sample of long lists, ``make test-thorough`` all."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("WORLDLOOM_THOROUGH", "0") != "0"
