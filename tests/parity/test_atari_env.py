"""Atari worlds against the environments they follow: ale-py, EnvPool, ale-py's vector environment and Gymnasium.

All get the same actions, and no-ops are not random. ``WORLDLOOM_PARITY=3000`` runs that many steps in more games.
"""

import os

import numpy as np
import pytest
from opencv_reference import assert_environments
from thorough import sample

import worldloom as wl
from worldloom.atari.emulator.rom_bank import RAM
from worldloom.atari.games.game_table import find_game

ale_py = pytest.importorskip("ale_py")
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

STEPS = int(os.environ.get("WORLDLOOM_PARITY", "0"))
LONG = STEPS > 0
DEVICE = "cpu" if LONG else "python"  # few steps are taken sooner than compiled
GAMES = (
    ["pong", "breakout", "space_invaders", "ms_pacman", "asterix", "enduro", "kung_fu_master", "air_raid"]
    if LONG
    else ["breakout"]
)
"""Games whose episodes all start alike: ALE powers on with a different timer value, which a few games read."""


def actions(count, choices, seed=0):
    """The same action for both worlds, which keeps them equal."""
    return [np.full(2, choice) for choice in np.random.default_rng(seed).integers(0, choices, count)]


@pytest.mark.parametrize("game", GAMES)
def test_consoles_are_ales(game):
    """RAM, picture, points, lives and end after every step of four frames, from ALE's own start."""
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(ale_py.roms.get_rom_path(game))
    ale.reset_game()
    legal = [action.value for action in ale.getMinimalActionSet()]
    sim = wl.Simulation(
        wl.definition(f"ALE/{find_game(game).id}-v5", repeat_action_probability=0.0),
        1,
        DEVICE,
        seed=0,
        autoreset="disabled",
    )
    console = sim["Console"]
    assert list(find_game(game).actions) == legal
    for step, choice in enumerate([None, *actions(STEPS or 40, len(legal))]):
        if choice is not None:
            points = 0
            for _ in range(4):
                points += 0 if ale.game_over() else ale.act(legal[choice[0]])
            sim.step(choice[:1, None].astype(np.int32))
            assert (console.reward.numpy()[0, 0], sim.terminated.numpy()[0]) == (points, ale.game_over()), step
        assert np.array_equal(console.machine.numpy()[0, 0, RAM : RAM + 128], ale.getRAM()), step
        assert np.array_equal(console.pictures.numpy()[0, 0, console.newest.numpy()[0, 0]], ale.getScreen()), step
        assert console.lives.numpy()[0, 0] == ale.lives(), step
        if ale.game_over():
            break


def same_steps(theirs, ours, steps, numbers, seed=0, last=True):
    """Step both environments with the same actions; ``numbers`` maps their infos. Returns the number of ends."""
    (seen, _), (shown, _) = theirs.reset(), ours.reset()
    assert_environments(shown, seen, "at the beginning")
    ended = 0
    for step, choice in enumerate(
        actions(
            steps, theirs.action_space.n if hasattr(theirs.action_space, "n") else theirs.single_action_space.n, seed
        )
    ):
        (seen, rewards, *ends, infos), (shown, got, *over, own_infos) = theirs.step(choice), ours.step(choice)
        assert np.array_equal(rewards, got), step
        assert np.array_equal(ends, over), step
        for name, own in numbers.items():
            assert np.array_equal(infos[name], own_infos[own]), (step, name)
        if last or not np.any(ends):
            assert_environments(shown, seen, f"step {step}")
        ended += int(np.any(ends))
    return ended


ENVPOOL = [
    ({"max_episode_steps": 25}, 2),
    ({"episodic_life": True, "reward_clip": True, "max_episode_steps": 25}, 2),
    ({"frame_skip": 3, "stack_num": 2, "gray_scale": False, "full_action_space": True, "use_fire_reset": False}, 0),
    *([({"frame_skip": 1, "img_height": 100, "img_width": 60}, 0)] if LONG else []),
]


@pytest.mark.parametrize(("settings", "ends"), sample(ENVPOOL, 2))
@pytest.mark.parametrize("game", GAMES)
def test_envpools_are_the_same(game, settings, ends):
    envpool = pytest.importorskip("envpool")
    id_ = f"{find_game(game).id}-v5"
    theirs = envpool.make(id_, env_type="gymnasium", num_envs=2, seed=1, noop_max=1, **settings)
    ours = wl.make(id_, 2, device=DEVICE, autoreset="next_step", noop_max=1, **settings)
    assert ours.single_observation_space == theirs.observation_space
    ended = same_steps(theirs, ours, STEPS or 60, {"lives": "lives", "reward": "points"})
    assert LONG or ended >= ends


VECTOR = [
    ("next_step", {"episodic_life": True}),
    ("same_step", {"noop_max": 0, "reward_clipping": False, "maxpool": False, "max_num_frames_per_episode": 201}),
    ("next_step", {}),
]


@pytest.mark.parametrize(("mode", "settings"), sample(VECTOR, 2))
@pytest.mark.parametrize("game", GAMES)
def test_ale_pys_vector_environments_are_the_same(game, mode, settings):
    """Equal except for the last observation of a game that ends in the last frame of a step."""
    vector_env = pytest.importorskip("ale_py.vector_env")
    chosen = {"noop_max": 1, **settings}
    theirs = vector_env.AtariVectorEnv(
        game, 2, autoreset_mode={"next_step": "NextStep", "same_step": "SameStep"}[mode], **chosen
    )
    ours = wl.make(f"{find_game(game).id}-v5", 2, device=DEVICE, autoreset=mode, like="vector", **chosen)
    assert same_steps(theirs, ours, STEPS or 70, {"lives": "lives", "episode_frame_number": "frames"}, last=False) >= (
        0 if LONG or not settings else 1
    )


@pytest.mark.parametrize("game", [*GAMES, "ms_pacman"])
def test_continuous_actions_are_gymnasiums(game):
    """Continuous actions of paddles, with their speed, and of joysticks."""
    gymnasium = pytest.importorskip("gymnasium")
    gymnasium.register_envs(ale_py)
    id_, chosen = (
        f"ALE/{find_game(game).id}-v5",
        {"continuous": True, "repeat_action_probability": 0.0, "obs_type": "ram"},
    )
    theirs, ours = gymnasium.make(id_, **chosen), wl.make(id_, 1, device=DEVICE, autoreset="disabled", **chosen)
    assert ours.single_action_space == theirs.action_space
    (seen, _), (shown, _) = theirs.reset(seed=0), ours.reset()
    theirs.action_space.seed(0)
    for step in range(STEPS or 40):
        assert np.array_equal(seen, shown[0]), step
        push = theirs.action_space.sample()
        (seen, _, over, *_), (shown, *_) = theirs.step(push), ours.step(push[None])
        if over:
            (seen, _), (shown, _) = theirs.reset(), ours.reset()


@pytest.mark.parametrize(
    "settings",
    sample([{}, {"obs_type": "grayscale", "frameskip": 3, "full_action_space": True}, {"obs_type": "ram"}], 2),
)
@pytest.mark.parametrize("game", GAMES)
def test_gymnasiums_are_the_same(game, settings):
    gymnasium = pytest.importorskip("gymnasium")
    gymnasium.register_envs(ale_py)
    id_ = f"ALE/{find_game(game).id}-v5"
    chosen = {"repeat_action_probability": 0.0, "max_num_frames_per_episode": 5001 if LONG else 101, **settings}
    theirs, ours = gymnasium.make(id_, **chosen), wl.make(id_, 1, device=DEVICE, autoreset="disabled", **chosen)
    assert ours.single_observation_space == theirs.observation_space and ours.single_action_space == theirs.action_space
    (seen, infos), (shown, own_infos) = theirs.reset(seed=0), ours.reset()
    ended = 0
    for step, choice in enumerate([None, *actions(STEPS or 35, theirs.action_space.n)]):
        if choice is not None:
            (seen, reward, *ends, infos), (shown, got, *over, own_infos) = (
                theirs.step(int(choice[0])),
                ours.step(choice[:1]),
            )
            assert (reward, ends) == (got[0], [flags[0] for flags in over]), step
        assert np.array_equal(seen, shown[0]), step
        assert (infos["lives"], infos["episode_frame_number"]) == (own_infos["lives"][0], own_infos["frames"][0]), step
        if choice is not None and any(ends):
            (seen, _), (shown, _) = theirs.reset(), ours.reset()
            assert np.array_equal(seen, shown[0])
            ended += 1
    assert LONG or ended > 0


@pytest.mark.parametrize("game", [*GAMES, "qbert"])
def test_exact_starts_are_gymnasiums(game):
    """Frame by frame, in every episode. Q*bert's mode switch cuts frames off, which keep earlier pixels."""
    gymnasium = pytest.importorskip("gymnasium")
    gymnasium.register_envs(ale_py)
    id_, chosen = f"ALE/{find_game(game).id}-v5", {"repeat_action_probability": 0.0, "frameskip": 1}
    theirs, ours = (
        gymnasium.make(id_, **chosen),
        wl.make(id_, 1, device=DEVICE, autoreset="disabled", exact_start=True, **chosen),
    )
    for episode in range(3):
        (seen, _), (shown, _) = theirs.reset(seed=0), ours.reset()
        for step, choice in enumerate([None, *actions(STEPS or 20, theirs.action_space.n, episode)]):
            if choice is not None:
                (seen, _, *ends, _), (shown, _, *over, _) = theirs.step(int(choice[0])), ours.step(choice[:1])
                assert ends == [flags[0] for flags in over], (episode, step)
            assert np.array_equal(seen, shown[0]), (episode, step)
            if choice is not None and any(ends):
                break
