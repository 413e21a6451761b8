"""Multiplayer games: ids, inputs and rewards of each player."""

from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.atari.cartridges import roms
from worldloom.atari.emulator.rom_bank import RAM
from worldloom.atari.env.boot import boot_variant
from worldloom.atari.games.multiplayer import MULTIPLAYER_VARIANTS, variant_of
from worldloom.atari.games.reward_rules import RewardRule
from worldloom.atari.games.reward_rules_cpp import LIVES
from worldloom.core.model.families import family_of

KEPT = Path(__file__).parent / "multiplayer.npz"
"""Values of the cells that the rules read in PettingZoo's emulator, whenever one changed, and the rewards it gave."""
KINDS = ("First", "Second", "Third", "Fourth")
PLAIN = {"obs_type": "ram", "noop_max": 0, "use_fire_reset": False, "frame_skip": 1, "full_action_space": True}


@pytest.mark.parametrize(
    "name",
    [
        "entombed_competitive",
        "entombed_cooperative",
        "joust",
        "mario_bros",
        "maze_craze",
        "quadrapong",
        "space_invaders",
        "warlords",
        "wizard_of_wor",
    ],
)
def test_players_are_paid_as_pettingzoo_pays_them(name):
    with np.load(KEPT) as kept:
        cells, memory, rewards, over, begins = (
            kept[f"{name}.{what}"] for what in ("cells", "memory", "rewards", "over", "begins")
        )
    duel, ram = MULTIPLAYER_VARIANTS[name], np.zeros(128, np.uint8)
    rule = RewardRule(duel.rule, LIVES[duel.rule])
    for row in range(len(memory)):
        if begins[row]:
            rule.begin()
        ram[cells] = memory[row]
        rule.score_frame(ram.tobytes())
        assert rule.rewards[: duel.players] == tuple(rewards[row].tolist()), (name, row)
        assert rule.over == over[row], (name, row)
    assert np.abs(rewards).sum(0).all() and over.any()


def test_ids_of_games_for_several_say_how_many_play():
    assert (
        variant_of("CombatPlane-v5") is MULTIPLAYER_VARIANTS["combat_plane"] and variant_of("combat_plane").players == 2
    )
    assert variant_of("MsPacman-v5") is None
    assert {duel.id for duel in MULTIPLAYER_VARIANTS.values() if duel.players == 4} == {"Quadrapong", "Warlords"}
    assert {duel.id for duel in MULTIPLAYER_VARIANTS.values() if duel.implied} > {
        "Foozpong",
        "BasketballPong",
        "VolleyballPong",
        "EntombedCooperative",
        "Joust",
    }
    assert all(family_of(f"{duel.id}-v5") is not None for duel in MULTIPLAYER_VARIANTS.values())


@pytest.mark.parametrize(
    ("id_", "given", "canonical", "players"),
    [
        ("Foozpong-v5", {}, "Foozpong-v5", 2),
        ("foozpong-v5", {"players": 2}, "Foozpong-v5", 2),
        ("Combat-v5", {}, "CombatTank-v5", 2),
        ("Joust-v5", {}, "Joust-v5", 2),
        ("Quadrapong-v5", {}, "Quadrapong-v5", 4),
        ("ALE/Warlords-v5", {}, "ALE/Warlords-v5", 4),
        ("SpaceInvaders-v5", {"players": 2}, "SpaceInvaders-v5:players=2", 2),
        ("SpaceInvaders-v5", {}, "SpaceInvaders-v5", 1),
    ],
)
def test_worlds_of_several_players_have_ids(id_, given, canonical, players):
    pytest.importorskip("ale_py")
    definition = wl.definition(id_, **given)
    assert definition.id == canonical and wl.definition(canonical) is definition
    assert list(definition.rows) == ["Console", *(KINDS[:players] if players > 1 else ())]


@pytest.mark.parametrize(
    ("id_", "given", "sentence"),
    [
        ("Quadrapong-v5", {"players": 2}, "Quadrapong-v5 is for 4 players, not 2"),
        ("Pong-v5", {"players": 3}, "give one of 1, 2, 4"),
        ("Foozpong-v5", {"mode": 1}, "leave mode out"),
        ("Foozpong-v5+Pong-v5", {"players": 2}, "a multiplayer world has one game"),
        ("Foozpong-v5+Pong-v5", {}, "Foozpong-v5 is for 2 players"),
        ("Joust-v5", {"players": 1}, "Joust-v5 is for 2 players"),
        ("Pong-v5+Combat-v5", {}, "Combat-v5 is for 2 players: give players=2, and name no other game"),
        ("Combat-v5:players=1", {}, "Combat-v5 is for 2 players"),
        ("CombatPlane-v5", {"players": 1}, "CombatPlane-v5 is for 2 players"),
    ],
)
def test_what_several_players_cannot_do_is_told(id_, given, sentence):
    pytest.importorskip("ale_py")
    with pytest.raises(wl.InputError, match=sentence):
        wl.definition(id_, **given)


@pytest.mark.parametrize("name", ["quadrapong", "warlords"])
def test_each_of_four_holds_a_paddle_of_its_own(name):
    pytest.importorskip("ale_py")
    definition = wl.definition(f"{MULTIPLAYER_VARIANTS[name].id}-v5", **PLAIN)
    sim = wl.Simulation(definition, 5, "python", seed=0)  # in world k player k turns left, and nobody in the last
    for _ in range(20):
        sim.step(
            {
                f"{kind}.stick": np.array([[4 if world == place else 0] for world in range(5)], np.int32)
                for place, kind in enumerate(KINDS)
            }
        )
    memory = sim["Console"].machine.numpy()[:, 0, RAM : RAM + 128]
    paddles = {"quadrapong": (0x3C, 0x3B, 0x3E, 0x3D), "warlords": (0x5B, 0x5C, 0x5D, 0x5E)}[name]
    moved = memory[:4, paddles] != memory[4, paddles]
    assert np.array_equal(moved, np.eye(4, dtype=bool))


def test_players_may_both_win():
    pytest.importorskip("ale_py")
    sim = wl.Simulation(wl.definition("Joust-v5", obs_type="ram", noop_max=1, like="envpool"), 16, seed=0)
    generator, paid = np.random.default_rng(0), np.zeros((16, 2))
    for _ in range(300):
        sim.step({f"{kind}.stick": generator.integers(0, 18, (16, 1), np.int32) for kind in KINDS[:2]})
        paid += np.stack([sim[kind].reward.numpy()[:, 0] for kind in KINDS[:2]], 1)
    assert (paid >= 0).all() and (paid.sum(0) > 0).all() and not np.array_equal(paid[:, 0], -paid[:, 1])


@pytest.mark.parametrize(
    ("name", "cell", "variant"),
    [
        ("combat_tank", 0x80, 8),
        ("combat_plane", 0x80, 14),
        ("maze_craze", 0xBD, 4),
        ("space_invaders", 0xDC, 33),
        ("mario_bros", 0x80, 1),
        ("joust", 0xF8, 1),
    ],
)
def test_the_console_comes_to_the_variant(name, cell, variant):
    pytest.importorskip("ale_py")
    duel = MULTIPLAYER_VARIANTS[name]
    sim = wl.Simulation(wl.definition(f"{duel.id}-v5", players=duel.players, **PLAIN), 1, "python", seed=0)
    assert sim["Console"].machine.numpy()[0, 0, RAM + cell - 0x80] == variant
    assert len(boot_variant(duel)) > 64


def test_the_file_of_a_game_for_several_is_not_played_alone():
    pytest.importorskip("ale_py")
    file = str(roms.find("combat").source)
    with pytest.raises(wl.InputError, match="Combat-v5 is for 2 players: give players=2"):
        wl.definition(file)
    assert wl.definition(file, players=2).id == "CombatTank-v5"
