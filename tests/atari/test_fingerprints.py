"""Fingerprints of Atari worlds: a changed hash makes earlier snapshots and replays unreadable."""

from __future__ import annotations

import ast

import pytest

import worldloom as wl
from worldloom.atari.env import launches
from worldloom.atari.env.launch_sources import SOURCES

HASHES = {
    "Pong-v5": "ffdf5954098b7d4ea078b8a1b05bc19dd2c7902e67ee5b5daaf2c17c1b739b39",
    "ALE/Pong-v5": "5397a7e60da9bf9a043b3475cf7c4e5ae0f999b50dc5c4fcf529616938187a90",
    "Pong-v5:obs_type=ram": "bc18d4c43bf41178f4d92fb5509ebf5253090f744086d29ab1a5ff82420c382b",
    "CombatPlane-v5": "b52b1d2ddea07dbdc58d46f6919c722dda6392e14ec3f9551890e9b1e42c01e1",
    "Breakout-v5:episodic_life=true": "6e721750612d0c0e2a2b7c44ae377fa22f73910f469b42f5051585b4f07ddf3c",
}


@pytest.mark.parametrize(("id", "hash"), HASHES.items())
def test_hashes_stay(id: str, hash: str) -> None:
    pytest.importorskip("ale_py")
    assert wl.definition(id).hash == hash


@pytest.mark.parametrize("name", SOURCES)
def test_sources_are_those_of_launch_classes(name: str) -> None:
    assert vars(getattr(launches, name))["fingerprint_source"] is SOURCES[name]
    (declared,) = ast.parse(SOURCES[name]).body
    assert isinstance(declared, ast.ClassDef) and declared.name == name
