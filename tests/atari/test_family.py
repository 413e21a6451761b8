"""Ids of Atari worlds and their definitions."""

import gymnasium
import numpy as np
import pytest

import worldloom as wl
from worldloom.atari.cartridges import roms
from worldloom.atari.env.family import AtariFamily
from worldloom.core.model.families import family_of
from worldloom.core.registry import registry
from worldloom.vector.adapters.dm_env import DmVectorEnv

pytest.importorskip("ale_py")


def test_every_game_has_two_ids():
    ids = [id_ for id_ in wl.list_all_envs() if isinstance(family_of(id_), AtariFamily)]
    assert len(ids) == len(set(ids)) == 208
    assert {"Pong-v5", "ALE/Pong-v5", "MsPacman-v5", "ALE/TicTacToe3D-v5"} < set(ids)
    assert wl.definition("TicTacToe3d-v5") is wl.definition("TicTacToe3D-v5")  # EnvPool's spelling
    assert not set(ids) & set(wl.registered())


def test_ids_are_known_without_their_roms(monkeypatch):
    monkeypatch.setattr(roms, "find", None)
    assert "Pong-v5" in wl.list_all_envs() and family_of("Pong-v5") is not None
    assert family_of("CartPole-v1") is None


@pytest.mark.parametrize(
    ("id_", "settings", "canonical"),
    [
        ("Pong-v5", {}, "Pong-v5"),
        ("ALE/Pong-v5", {}, "ALE/Pong-v5"),
        ("Pong-v5", {"frame_skip": 2, "noop_max": 1}, "Pong-v5:frame_skip=2,noop_max=1"),
        ("Pong-v5:noop_max=1", {"frameskip": 2}, "Pong-v5:frame_skip=2,noop_max=1"),
        ("Pong-v5:frame_skip=4", {}, "Pong-v5"),
        ("Pong-v5", {"like": "vector"}, "Pong-v5:like=vector"),
        ("Pong-v5", {"like": "gymnasium"}, "ALE/Pong-v5"),
        ("Pong-v5+Breakout-v5", {}, "Pong-v5+Breakout-v5"),
        ("ALE/Pong-v5+ALE/Breakout-v5", {"obs_type": "ram"}, "ALE/Pong-v5+ALE/Breakout-v5:obs_type=ram"),
        ("PongNoFrameskip-v4", {}, "ALE/Pong-v5:frame_skip=1,repeat_action_probability=0.0"),
        ("PongNoFrameskip-v0", {"frameskip": 4}, "ALE/Pong-v5"),
        ("PongDeterministic-v0", {}, "ALE/Pong-v5"),
        ("SpaceInvadersDeterministic-v4", {}, "ALE/SpaceInvaders-v5:frame_skip=3,repeat_action_probability=0.0"),
        ("Pong-ramNoFrameskip-v4", {}, "ALE/Pong-v5:frame_skip=1,obs_type=ram,repeat_action_probability=0.0"),
        ("Pong-ram-v0", {"frameskip": 4}, "ALE/Pong-v5:obs_type=ram"),
        ("MsPacman-v4:obs_type=ram", {}, "ALE/MsPacman-v5:frame_skip=2-5,obs_type=ram,repeat_action_probability=0.0"),
        ("Pong-v0+Breakout-v0", {}, "ALE/Pong-v5+ALE/Breakout-v5:frame_skip=2-5"),
    ],
)
def test_ids_and_settings_meet(id_, settings, canonical):
    definition = wl.definition(id_, **settings)
    assert definition.id == canonical
    assert wl.definition(canonical) is definition


def test_the_path_of_a_rom_may_have_a_plus(tmp_path):
    file = tmp_path / "one+two" / "any.bin"
    file.parent.mkdir()
    file.write_bytes(roms.find("pong").image)
    assert wl.definition(str(file)) is not None and wl.definition(f"{file}:noop_max=1").id == "Pong-v5:noop_max=1"


def test_the_path_of_a_rom_may_be_a_path(tmp_path):
    file = tmp_path / "any.bin"
    file.write_bytes(roms.find("pong").image)
    assert wl.Simulation(file, 1, "python").definition.id == "Pong-v5"
    assert wl.make(file, 2, device="python", stack_num=1).observation_space.shape == (2, 1, 84, 84)


def test_settings_reach_every_interface():
    assert wl.make(
        "Breakout-v5", 2, device="python", stack_num=2, img_height=42, img_width=42
    ).observation_space.shape == (2, 2, 42, 42)
    assert gymnasium.make(
        "worldloom/Breakout-v5", device="python", stack_num=2, img_height=42, img_width=42
    ).observation_space.shape == (2, 42, 42)
    assert wl.make_spec("Breakout-v5", obs_type="ram").observation_space.shape == (128,)
    assert wl.make_spec("Pong-v5+Breakout-v5").action_space.n == 18
    assert wl.make_spec("ALE/Breakout-v5").observation_space.shape == (210, 160, 3)


def test_a_pool_takes_settings_too():
    with wl.make("Breakout-v5", 4, batch_size=2, device="python", obs_type="ram", noop_max=1) as pool:
        pool.async_reset()
        observations, *_, infos = pool.recv()
        assert observations.shape == (2, 128) and infos["lives"].tolist() == [5, 5]


def test_dm_env_is_told_of_lost_lives():
    env = wl.make(
        "Breakout-v5",
        1,
        device="python",
        env_type="dm",
        obs_type="ram",
        noop_max=1,
        zero_discount_on_life_loss=True,
        max_episode_steps=400,
    )
    assert isinstance(env, DmVectorEnv)
    env.reset()
    steps = [env.step([1 if k % 8 == 0 else 0]) for k in range(60)]
    lost = [float(step.discount[0]) for step in steps]
    assert 0.0 in lost and all(int(step.step_type[0]) == 1 for step in steps)


@pytest.mark.parametrize(
    ("id_", "settings", "sentence"),
    [
        ("Pong-v5", {"frame_skp": 2}, "world 'Pong-v5' has no setting 'frame_skp'; did you mean frame_skip?"),
        ("Pong-v5", {"gravity": 2}, "world 'Pong-v5' has no setting 'gravity'; it has grayscale, "),
        ("Pong-v5", {"stack": 2}, "world 'Pong-v5' has no setting 'stack'; it has stack_num, "),
        ("r/z.zip", {}, "there is no file r/z.zip"),
        ("./roms/none", {}, "there is no file roms/none"),
        ("roms/none", {}, "there is no world 'roms/none'"),
        (
            "Pong-v5:noop_max=1",
            {"noop_max": 2},
            "the setting 'noop_max' of world 'Pong-v5:noop_max=1' is given twice, "
            "as 'noop_max' in the id too: give it once",
        ),
        ("Pong-v5:speed=1", {}, "no setting 'speed'"),
        ("Pong-v5", {"mode": 77}, "pong has no mode 77: choose one of 0, 1"),
        ("Pong-v5", {"difficulty": 7}, "pong has no difficulty 7"),
        ("Pong-v5+Breakout-v5", {"players": 2}, "a multiplayer world has one game"),
        ("Pog-v5", {}, "there is no world 'Pog-v5'; did you mean Pong-v5"),
        ("nowhere/game.bin", {}, "there is no file nowhere/game.bin"),
    ],
)
def test_what_cannot_be_made_is_told(id_, settings, sentence):
    with pytest.raises(wl.InputError) as refused:
        wl.make(id_, 2, device="python", **settings)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("id_", "settings", "sentence"),
    [
        ("Pong-v5+ALE/Breakout-v5", {}, "'ALE/' before all of them or before none"),
        ("ALE/Pong-v5+Breakout-v5", {}, "'ALE/' before all of them or before none"),
        ("PongNoFrameskip-v4+Breakout-v5", {}, "'ALE/' before all of them or before none"),
        ("PongNoFrameskip-v4+Breakout-v4", {}, "write all ids in the same form"),
        ("Pong-v5+Brekout-v5", {}, "did you mean Breakout-v5?"),
        ("Pong-v5+CartPole-v1", {}, "a plus joins Atari games, and 'CartPole-v1' is none"),
        ("Pong-v5:frame_skip", {}, "write name=value"),
        ("Pong-v5", {"frame_skip": [4, 8]}, "cannot be one value per world; a pair is a tuple"),
        (
            "Pong-v5",
            {"episodic_life": [True, False]},
            "'episodic_life' of an Atari world cannot be one value per world",
        ),
    ],
)
def test_what_was_meant_otherwise_is_told(id_, settings, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        wl.definition(id_, **settings)


def test_players_are_a_setting_of_pettingzoo_worlds_too():
    pettingzoo = pytest.importorskip("worldloom.vector.adapters.pettingzoo")
    env = pettingzoo.WorldParallelEnv("Boxing-v5", players=2, obs_type="ram", max_episode_steps=7)
    assert len(env.possible_agents) == 2 and env.simulation.get_config("max_steps") == 7
    with pytest.raises(wl.InputError, match="which is made with it and keeps it: give it with the id"):
        env.simulation.set_config("players", 1)
    env.close()


def test_worlds_without_settings_say_so():
    with pytest.raises(wl.InputError, match="there is no world 'Pog-v5'; did you mean Pong-v5"):
        wl.definition("Pog-v5", frame_skip=2)
    with pytest.raises(wl.InputError, match="world 'CartPole-v1' has no settings"):
        wl.definition("CartPole-v1", frame_skip=2)


def test_a_setting_is_given_once():
    with pytest.raises(wl.InputError, match="the setting 'noop_max' is both in the id and an argument: give it once"):
        wl.definition("Pong-v5:noop_max=1", noop_max=2)


def test_a_missing_rom_is_told_when_its_world_is_made(monkeypatch, tmp_path):
    monkeypatch.delenv("ALE_ROMS_DIR", raising=False)
    monkeypatch.setattr(roms, "PACKAGE", "a_package_that_is_not_there")
    with pytest.raises(wl.InputError) as refused:
        wl.make("Pong-v5", 2)
    assert "world 'Pong-v5' cannot be made: there is no ROM of pong" in str(refused.value)
    assert "pip install 'worldloom[atari]'" in str(refused.value) and "ALE_ROMS_DIR" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_rom_runs_without_rules(tmp_path, capsys):
    image = bytearray(roms.find("adventure").image)
    image[-100] ^= 1
    rom = tmp_path / "altered.bin"
    rom.write_bytes(image)
    definition = wl.definition(str(rom))
    assert definition.id == str(rom) and "no rewards, no lives, and no end of an episode" in definition.notice
    sim = wl.Simulation(definition, 1, "python", seed=0)
    assert sim["Console"].pictures.shape == (1, 1, 2, 250, 160)  # its frames are as long as PAL's
    assert definition.actions()["Console.stick"][1].space.n == 18
    sim.step([[3]])
    assert (sim["Console"].reward.numpy(), sim["Console"].lives.numpy(), sim.terminated.numpy()) == (0, 0, False)
    assert family_of(str(rom)) is not None and wl.definition(str(rom)) is definition
    wl.make(str(rom), 1, device="python")
    assert definition.notice in capsys.readouterr().err


@pytest.mark.parametrize(
    "id_",
    [
        "mine/Pond-v0",
        "mine/Pond",
        "dm_control/cartpole",
        "worlds/pond.py",
        "./pond.py",
        "worlds/pond.py:Pond",
        "runs/typo",
    ],
)
def test_ids_with_a_separator_are_no_roms(id_):
    assert family_of(id_) is None and family_of("ALE/Pong-v5") is not None


def test_a_file_with_any_name_is_a_rom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "pong").write_bytes(roms.find("pong").image)
    assert wl.definition("mine/pong:noop_max=1").id == "Pong-v5:noop_max=1"
    assert family_of("mine") is None and family_of("mine/") is None


class Pond(wl.World):
    ripples: int


@wl.system
def ripple(world: Pond):
    world.ripples += 1


@pytest.mark.parametrize("id_", ["mine/Pond", "./mine/Pond"])
def test_what_is_registered_comes_before_the_files_of_roms(id_, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", {})
    definition = wl.register(id_, world=Pond, entities={}, step=[ripple])
    assert wl.definition(id_) is definition
    monkeypatch.setattr(registry, "_REGISTRY", {})
    monkeypatch.setattr(registry, "_LAZY_DEFINITIONS", {id_: lambda: definition})
    assert wl.definition(id_) is definition


def test_what_is_its_own_affair_is_not_offered():
    sim = wl.Simulation(wl.definition("Pong-v5", obs_type="ram", noop_max=1), 1, "python", seed=0)
    with pytest.raises(wl.InputError, match="it has reward_clip, ") as refused:
        sim.set_config("reward_clp", True)
    assert not {"buttons", "fires", "waits"} & set(str(refused.value).replace(",", "").split())


def test_settings_that_are_configuration_may_be_given_per_world():
    env = wl.make(
        "Breakout-v5",
        2,
        device="python",
        obs_type="ram",
        noop_max=1,
        reward_clip=[True, False],
        max_episode_steps=np.array([3, 5]),
    )
    assert env.simulation.get_config("reward_clip").tolist() == [True, False]
    env.reset(seed=0)
    ends = np.array([env.step(np.zeros(2, np.int64))[3] for _ in range(5)])
    assert ends[:, 0].tolist() == [False, False, True, False, False] and ends[:, 1].tolist() == [False] * 4 + [True]
    with pytest.raises(wl.InputError, match="configuration 'reward_clip' is one value of shape \\(\\), or 2 of them"):
        wl.make("Breakout-v5", 2, device="python", obs_type="ram", reward_clip=[True] * 3)
    with pytest.raises(wl.InputError, match="'stack_num' of an Atari world cannot be one value per world"):
        wl.make("Breakout-v5", 2, device="python", stack_num=[1, 2])


@pytest.mark.parametrize(
    ("id_", "settings", "sentence"),
    [
        (
            "Pong-v5",
            {"repeat_action_probability": [2.0, -1.0]},
            "'repeat_action_probability' of world 'Pong-v5' must be between 0 and 1, not 2",
        ),
        ("Pong-v5", {"repeat_action_probability": [0.5, float("nan")]}, "must be between 0 and 1, not nan"),
        (
            "Pong-v5",
            {"max_num_frames_per_episode": [-3, 4]},
            "'max_num_frames_per_episode' of world 'Pong-v5' must be between 0 and ",
        ),
        ("Pong-v5", {"max_episode_steps": [4, -3]}, "'max_steps' of world 'Pong-v5' must be between 0 and "),
        (
            "Pong-v5",
            {"max_episode_steps": [3, 5], "max_steps": 7},
            "the setting 'max_steps' of world 'Pong-v5' is given twice, as 'max_episode_steps' too",
        ),
        (
            "Pong-v5",
            {"max_steps": 7, "max_episode_steps": 5},
            "'max_steps' of world 'Pong-v5' is given twice, as 'max_episode_steps' too",
        ),
        (
            "Pong-v5",
            {"reward_clip": [True, False], "reward_clipping": [False, True]},
            "given twice, as 'reward_clip' too",
        ),
        ("Pong-v5:reward_clip=True", {"reward_clip": [True, False]}, "given twice, as 'reward_clip' in the id too"),
        (
            "Pong-v5:reward_clipping=True",
            {"reward_clip": [True, False]},
            "given twice, as 'reward_clipping' in the id too",
        ),
        ("Pong-v5:max_episode_steps=3", {"max_steps": 4}, "given twice, as 'max_episode_steps' in the id too"),
        (
            "Pong-v5",
            {"stack_nm": 2, "frame_skp": 2, "nop_max": 2},
            "has no setting 'stack_nm'; did you mean stack_num?",
        ),
        ("Pong-v5", {"nop_max": 2, "frame_skp": 2, "stack_nm": 2}, "has no setting 'nop_max'; did you mean noop_max?"),
    ],
)
def test_settings_per_world_are_looked_at_as_others_are(id_, settings, sentence):
    with pytest.raises(wl.InputError) as refused:
        wl.make(id_, 2, device="python", obs_type="ram", **settings)
    assert sentence in str(refused.value).replace(":obs_type=ram", "")


def test_configuration_stays_within_its_limits_while_worlds_run():
    sim = wl.Simulation(wl.definition("Pong-v5", obs_type="ram", noop_max=1), 1, "python", seed=0)
    sim.set_config("repeat_action_probability", 1.0)
    with pytest.raises(wl.InputError, match="must be between 0 and 1, not 5"):
        sim.set_config("repeat_action_probability", 5.0)
