"""FlagrunTerrain-v0: a humanoid runs to changing targets between obstacles, which it sees on a height map."""

from __future__ import annotations

from worldloom.envs.locomotion.flagrun import define_flagrun
from worldloom.envs.locomotion.terrain import Terrain

FLAGRUN_TERRAIN = define_flagrun("FlagrunTerrain-v0", agents=1, target_distance=30.0, terrain=Terrain())
