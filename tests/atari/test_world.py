"""Atari worlds in the engine: equal on all devices and in all batches; snapshots, several games, two players."""

import numpy as np
import pytest

import worldloom as wl
from worldloom.atari.emulator.rom_bank import RAM
from worldloom.atari.env.launches import Emulate
from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Launch
from worldloom.core.tools.compare import compare

pytest.importorskip("ale_py")

RAM_OF_BREAKOUT = {"obs_type": "ram", "noop_max": 4}


def play(sim, steps, seed=0, kinds=("Console",)):
    """Take random actions; returns observations, rewards and infos of every step."""
    generator, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        sim.step(
            {
                f"{kind}.stick": generator.integers(0, sim[kind].stick.field.space.n, sim[kind].stick.shape, np.int32)
                for kind in kinds
            }
        )
        seen.append(
            [
                column.numpy().copy()
                for column in (
                    sim["Console"].machine,
                    sim[kinds[0]].reward,
                    sim["Console"].lives,
                    sim.terminated,
                    sim.truncated,
                )
            ]
        )
    return seen


def same(one, other):
    return all(np.array_equal(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize(
    "given",
    [
        {"episodic_life": True, "repeat_action_probability": 0.3, "frame_skip": (2, 5)},
        {"life_loss_info": True, "like": "vector"},
    ],
)
def test_systems_and_kernels_agree(given):
    assert (
        compare(wl.definition("Breakout-v5", obs_type="ram", **given), ("python", "cpu"), num_worlds=1, steps=100)
        is None
    )


def test_world_k_is_the_same_in_any_batch():
    definition = wl.definition("Pong-v5+Breakout-v5", obs_type="ram", repeat_action_probability=0.25)
    whole = play(wl.Simulation(definition, 6, seed=3, threads=2), 30)
    part = wl.Simulation(definition, 2, seed=3, world_offset=3)
    generator = np.random.default_rng(0)
    for step in range(30):
        part.step(generator.integers(0, 18, (6, 1), np.int32)[3:5])
        assert np.array_equal(part["Console"].machine.numpy(), whole[step][0][3:5])
    assert part["Console"].game.numpy().ravel().tolist() == [1, 0]


def test_each_game_of_a_batch_is_as_it_is_alone():
    both = wl.Simulation(wl.definition("Pong-v5+Breakout-v5", obs_type="ram", noop_max=1), 2, "python", seed=0)
    alone = [
        wl.Simulation(
            wl.definition(f"{game}-v5", obs_type="ram", noop_max=1, full_action_space=True), 1, "python", seed=0
        )
        for game in ("Pong", "Breakout")
    ]
    generator = np.random.default_rng(1)
    for _ in range(50):
        actions = generator.integers(0, 18, (2, 1), np.int32)
        both.step(actions)
        for world, sim in enumerate(alone):
            sim.step(actions[world : world + 1])
            memory = slice(RAM, RAM + 128)
            assert np.array_equal(
                both["Console"].machine.numpy()[world, 0, memory], sim["Console"].machine.numpy()[0, 0, memory]
            )


def test_snapshots_go_on_where_they_were_taken():
    sim = wl.Simulation(wl.definition("Breakout-v5", **RAM_OF_BREAKOUT), 3, "python", seed=1)
    play(sim, 30, seed=1)
    snapshot = sim.snapshot()
    expected = play(sim, 150, seed=2)
    sim.restore(snapshot)
    assert same(play(sim, 150, seed=2), expected)
    assert any(step[3].any() for step in expected)


@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_episodes_end_and_begin(mode):
    env = wl.make("Breakout-v5", 2, device="python", seed=0, autoreset=mode, max_steps=20, **RAM_OF_BREAKOUT)
    env.reset()
    for step in range(1, 41):
        _, _, terminations, truncations, infos = env.step(np.zeros(2, np.int64))
        over = (
            (mode == "disabled" and step == 20)
            or (mode == "same_step" and step % 20 == 0)
            or (mode == "next_step" and step in (20, 41))
        )
        assert truncations.all() == over and not terminations.any()
        if over and mode == "disabled":
            env.reset(options={"reset_mask": truncations})
            return
    assert infos["frames"].max() <= 4 * 20 + 5


def test_a_game_that_is_over_stays_so():
    sim = wl.Simulation(wl.definition("Breakout-v5", **RAM_OF_BREAKOUT), 1, "python", seed=0, autoreset="disabled")
    while not sim.terminated.numpy()[0]:
        sim.step([[1]])
    before = sim["Console"].machine.numpy().copy()
    sim.step([[2]])
    assert sim.terminated.numpy()[0] and sim["Console"].ran.numpy()[0, 0] == 0
    assert np.array_equal(sim["Console"].machine.numpy(), before)


def test_sticky_actions_are_drawn_anew_in_every_frame():
    sim = wl.Simulation(
        wl.definition("Breakout-v5", frame_skip=32, obs_type="ram", repeat_action_probability=0.25),
        64,
        "python",
        seed=0,
    )
    sim["Console"].held.fill(5)
    sim.step(np.full((64, 1), 3, np.int32))  # LEFT
    held = sim["Console"].pressed.numpy()[:, 0, :, 0]
    repeats = (held == 5).sum(1)  # the first frames of each world, until one takes the new action
    assert set(np.unique(held)) == {4, 5} and all((held[k, : repeats[k]] == 5).all() for k in range(64))
    assert 0.15 < (repeats > 0).mean() < 0.37 and 0 < (repeats > 1).mean() < 0.15
    sim.set_config("repeat_action_probability", 1.0)
    sim.step(np.full((64, 1), 2, np.int32))
    assert (sim["Console"].pressed.numpy()[:, 0, :, 0] == 4).all()


def test_what_sticks_is_what_the_last_frame_of_a_step_had():
    sim = wl.Simulation(
        wl.definition("Breakout-v5", frame_skip=(1, 9), obs_type="ram", repeat_action_probability=0.6),
        64,
        "python",
        seed=0,
    )
    for action in (3, 2, 3):
        sim.step(np.full((64, 1), action, np.int32))
        console = sim["Console"]
        last = console.pressed.numpy()[np.arange(64), 0, console.span.numpy()[:, 0] - 1, 0]
        assert np.array_equal(console.held.numpy()[:, 0], last) and len(set(last.tolist())) > 1


def test_what_sticks_outlasts_a_lost_life_that_is_only_told():
    sim = wl.Simulation(
        wl.definition("Breakout-v5", obs_type="ram", life_loss_info=True, repeat_action_probability=0.25), 16, seed=0
    )
    continued = 0
    for _ in range(100):
        sim.step(np.full((16, 1), 2, np.int32))  # RIGHT, which misses the ball
        going_on = sim.terminated.numpy() & (sim["Console"].lives.numpy()[:, 0] < 5)
        continued += going_on.sum()
        assert (sim["Console"].held.numpy()[going_on, 0] == 3).all()
    assert continued > 0


@pytest.mark.parametrize("given", [{"episodic_life": True}, {"life_loss_info": True}])
def test_a_game_that_is_cut_off_with_a_life_does_not_go_on(given):
    sim = wl.Simulation(wl.definition("Breakout-v5", obs_type="ram", noop_max=0, **given), 1, "python", seed=0)
    while not sim.terminated.numpy()[0]:
        sim.step([[2]])
        frames = int(sim["Console"].played.numpy()[0, 0])
    again = wl.Simulation(
        wl.definition("Breakout-v5", obs_type="ram", noop_max=0, max_num_frames_per_episode=frames, **given),
        1,
        "python",
        seed=0,
    )
    while not again.terminated.numpy()[0]:
        again.step([[2]])
    assert (
        again.truncated.numpy()[0]
        and again["Console"].fresh.numpy()[0, 0]
        and again["Console"].lives.numpy()[0, 0] == 5
    )


def test_rewards_are_clipped_on_demand():
    sim = wl.Simulation(wl.definition("SpaceInvaders-v5", obs_type="ram", noop_max=1), 4, "python", seed=0)
    rewards = np.array([step[1] for step in play(sim, 150)])
    assert rewards.max() >= 5.0
    sim.set_config("reward_clip", True)
    assert set(np.unique([step[1] for step in play(sim, 150)])) == {0.0, 1.0}


def test_two_players_play_one_game():
    definition = wl.definition("Boxing-v5", players=2, obs_type="ram", noop_max=1)
    assert list(definition.rows) == ["Console", "First", "Second"]
    sim = wl.Simulation(definition, 2, "python", seed=0)
    play(sim, 100, kinds=("First", "Second"))
    assert np.array_equal(sim["First"].reward.numpy(), -sim["Second"].reward.numpy())
    assert np.array_equal(sim["First"].ram.numpy(), sim["Second"].ram.numpy())
    pressed = sim["Console"].pressed.numpy()[:, 0, 0]
    assert pressed.shape == (2, 2) and pressed.any()


def test_the_picture_of_a_world_is_a_televisions():
    env = wl.make("Pong-v5+Adventure-v5", 2, device="python", render_mode="rgb_array", seed=0)
    env.reset()
    env.step(np.zeros(2, np.int64))
    pong, adventure = env.render()
    assert (pong.shape, adventure.shape, pong.dtype) == ((210, 160, 3), (250, 160, 3), np.uint8)
    assert {(144, 72, 17), (236, 236, 236)} < {
        tuple(pixel) for pixel in pong.reshape(-1, 3).tolist()
    }  # the court, and its lines


def test_the_second_player_moves_what_is_the_computers_otherwise():
    height_of_the_left_paddle = RAM + 0x32
    sim = wl.Simulation(wl.definition("Pong-v5", players=2, obs_type="ram", noop_max=1), 2, "python", seed=0)
    for _ in range(10):
        sim.step({"First.stick": np.zeros((2, 1), np.int32), "Second.stick": np.array([[2], [3]], np.int32)})
    assert sim["Console"].machine.numpy()[:, 0, height_of_the_left_paddle].tolist() == [38, 203]


@pytest.mark.parametrize(
    ("game", "given", "message"),
    [("MsPacman-v5", {}, "ms_pacman is for one player"), ("Pong-v5", {"mode": 1}, "leave mode out")],
)
def test_two_players_need_a_variant_for_two(game, given, message):
    with pytest.raises(InputError, match=message):
        wl.definition(game, players=2, **given)


def test_memory_is_seen_without_a_picture():
    definition = wl.definition("Breakout-v5", obs_type="ram", noop_max=1, episodic_life=True)
    labels = [
        entry.label for entry in (*definition.reset, *definition.step, *definition.observe) if isinstance(entry, Launch)
    ]
    assert not {"draw", "show"} & set(labels) and {
        entry.window for entry in definition.step if isinstance(entry, Emulate)
    } == {0}
    seen = wl.definition("Breakout-v5", noop_max=1, episodic_life=True)
    assert {"draw", "show"} < {entry.label for entry in (*seen.step, *seen.observe) if isinstance(entry, Launch)}


def test_a_world_that_shows_memory_is_drawn_for_who_looks():
    env = wl.make("Pong-v5", 1, device="python", render_mode="rgb_array", seed=0, obs_type="ram", noop_max=1)
    env.reset()
    before = env.simulation["Console"].machine.numpy().copy()
    (picture,) = env.render()
    assert picture.shape == (210, 160, 3) and {(144, 72, 17), (236, 236, 236)} < {
        tuple(pixel) for pixel in picture.reshape(-1, 3).tolist()
    }
    assert np.array_equal(env.simulation["Console"].machine.numpy(), before)
