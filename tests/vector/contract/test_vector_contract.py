"""Gymnasium's contract of vector environments: methods, spaces, autoreset modes, seeds, infos and errors."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from meadow import MEADOW, SKY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.gymnasium import WorldEnv, WorldVectorEnv

N = 3
MODES = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP, "disabled": AutoresetMode.DISABLED}


def make(world="CartPole-v1", **arguments):
    return wl.make(world, N, **{"device": "python", "seed": 0, **arguments})


# ---------------------------------------------------------------- construction


@pytest.mark.parametrize("name", MODES)
def test_autoreset_modes_by_both_names(name):
    mode = MODES[name]
    for arguments in ({"autoreset": name}, {"autoreset": mode}, {"autoreset_mode": mode}, {"autoreset_mode": name}):
        env = make(**arguments)
        assert env.metadata["autoreset_mode"] is mode
        assert env.simulation.autoreset == name
    assert make(autoreset_mode=mode.value).metadata["autoreset_mode"] is mode, "as SyncVectorEnv takes it"
    made = gymnasium.make_vec("worldloom/CartPole-v1", num_envs=N, autoreset_mode=mode, device="python")
    assert made.metadata["autoreset_mode"] is mode
    with wl.make("gymnasium:CartPole-v1", 2, num_threads=1, autoreset_mode=mode) as pool:
        assert pool.metadata["autoreset_mode"] is mode


def test_default_autoreset_modes():
    assert make().metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    made = gymnasium.make_vec("worldloom/CartPole-v1", num_envs=N, device="python")
    assert made.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_autoreset_modes_that_differ():
    assert make(autoreset="disabled", autoreset_mode=MODES["disabled"]).simulation.autoreset == "disabled"
    with pytest.raises(InputError, match="autoreset is 'same_step' and autoreset_mode is 'disabled': give one of them"):
        make(autoreset="same_step", autoreset_mode=MODES["disabled"])
    with pytest.raises(InputError, match="autoreset must be one of same_step, next_step, disabled, not 'Later'"):
        make(autoreset_mode="Later")


def test_max_episode_steps():
    env = make(max_episode_steps=4)
    env.reset()
    ends = [env.step(np.array([step % 2] * N))[3] for step in range(4)]
    assert np.array_equal(ends, [[False] * N] * 3 + [[True] * N])
    assert make(max_episode_steps=-1).get_attr("max_steps") == (0,) * N, "no limit, as in gymnasium.make"
    assert make(max_episode_steps=[2, -1, 4]).get_attr("max_steps") == (2, 0, 4)
    for wrong in (0, 2.5, True):
        with pytest.raises(InputError, match="max_episode_steps must be a whole number of 1 or more"):
            make(max_episode_steps=wrong)
    with pytest.raises(InputError, match="max_episode_steps and max_steps are the same limit"):
        make(max_episode_steps=4, max_steps=4)
    with wl.make("gymnasium:CartPole-v1", 2, num_threads=1, max_episode_steps=3) as pool:
        pool.reset(seed=0)
        assert [pool.step(np.array([k % 2] * 2))[3].all() for k in range(3)] == [False, False, True]
    with pytest.raises(InputError, match="pass max_episode_steps to gymnasium"):
        wl.make(lambda: gymnasium.make("CartPole-v1"), 2, max_episode_steps=3)


@pytest.mark.parametrize("call", [make, WorldEnv, lambda **a: gymnasium.make("worldloom/CartPole-v1", **a)])
def test_unknown_arguments_are_type_errors(call):
    """TorchRL tries ``frameskip``, and reads the message."""
    arguments = {"frameskip": 4} if call is not WorldEnv else {"frameskip": 4, "world": "CartPole-v1"}
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'frameskip': .* has no configuration") as caught:
        call(**arguments)
    assert isinstance(caught.value, InputError)


def test_unknown_settings_of_families_are_type_errors():
    for name in ("frame_skipp", "colour"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            wl.make("Pong-v5", 1, **{name: 4})


def test_torchrl_finds_out_which_arguments_there_are():
    torchrl = pytest.importorskip("torchrl.envs.libs.gym")
    env = torchrl.GymEnv("worldloom/CartPole-v1", frame_skip=2)
    assert env.rollout(3).shape[0] >= 1


def test_an_environment_is_a_context():
    with make() as env:
        env.reset()
    assert env.closed
    with wl.make("gymnasium:CartPole-v1", 1) as pool:
        pool.reset()
    assert pool.closed
    with pytest.raises(InputError, match="closed"):
        env.step(np.zeros(N, int))


def test_names_that_two_worlds_share():
    """Gymnasium would take the Atari game for the newest version of Blackjack."""
    registry = gymnasium.registry
    assert "worldloom/Blackjack-v1" in registry and "worldloom/Blackjack-v5" not in registry
    assert registry["worldloom-atari/Blackjack-v5"].kwargs == {"world": "Blackjack-v5"}
    assert registry["worldloom/Pong-v5"].kwargs == {"world": "Pong-v5"}
    with pytest.warns(UserWarning, match="worldloom/Blackjack-v1"):
        env = gymnasium.make("worldloom/Blackjack", device="python")
    assert env.action_space == gymnasium.spaces.Discrete(2)


# ---------------------------------------------------------------- spaces and types


def assert_types(space, values, num_envs):
    """Arrays have exactly the type and shape that the batched space declares."""
    if isinstance(space, gymnasium.spaces.Dict):
        assert isinstance(values, dict) and set(values) == set(space)
        for key in space:
            assert_types(space[key], values[key], num_envs)
    elif isinstance(space, gymnasium.spaces.Tuple):
        assert isinstance(values, tuple) and len(values) == len(space)
        for part, value in zip(space, values, strict=True):
            assert_types(part, value, num_envs)
    else:
        assert isinstance(values, np.ndarray)
        assert values.dtype == space.dtype
        assert values.shape == space.shape and values.shape[0] == num_envs
        assert space.contains(values)


@pytest.mark.parametrize("world", [MEADOW, SKY, "CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Pendulum-v1"])
@pytest.mark.parametrize("copy", [True, False])
def test_types_are_those_of_the_spaces(world, copy):
    """Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple; in observations, and in final ones."""
    env = make(world, copy=copy, max_episode_steps=3)
    assert isinstance(env, VectorEnv)
    assert env.observation_space == gymnasium.vector.utils.batch_space(env.single_observation_space, N)
    assert env.action_space == gymnasium.vector.utils.batch_space(env.single_action_space, N)
    assert_types(env.observation_space, env.reset()[0], N)
    finals = 0
    for _ in range(8):
        observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
        assert_types(env.observation_space, observations, N)
        assert rewards.shape == (N,) and rewards.dtype == np.float32
        assert terminations.dtype == truncations.dtype == np.bool_
        if "final_obs" in infos:
            assert_types(env.observation_space, infos["final_obs"], N)
            finals += 1
    assert finals


def test_single_worlds_have_the_types_of_their_spaces():
    for world, kind in (("FrozenLake-v1", np.int64), ("Blackjack-v1", tuple), ("CartPole-v1", np.ndarray)):
        env = WorldEnv(world, device="python")
        observation, _ = env.reset(seed=0)
        assert isinstance(observation, kind) and observation in env.observation_space
        assert env.step(env.action_space.sample())[0] in env.observation_space


def test_blackjack_has_gymnasiums_spaces():
    own, env = gymnasium.make("Blackjack-v1"), make("Blackjack-v1")
    assert env.single_observation_space == own.observation_space == wl.make_spec("Blackjack-v1").observation_space
    assert env.single_action_space == own.action_space
    observations, _ = env.reset()
    column = env.simulation["Player"].sight.numpy()[:, 0]
    assert np.array_equal(np.stack(observations, 1), column)
    with wl.make("Blackjack-v1", 4, batch_size=2, device="python", seed=0) as pool:
        pool.async_reset()
        assert [part.dtype for part in pool.recv()[0]] == [np.int64] * 3


def test_tensors_hold_discrete_values_in_64_bits():
    env = make("FrozenLake-v1", env_type="torch", copy=False)
    assert env.reset()[0].dtype == torch.int64
    sights = make("Blackjack-v1", env_type="torch").reset()[0]
    assert [part.dtype for part in sights] == [torch.int64] * 3
    assert make(MEADOW, env_type="torch").reset()[0]["signals"].dtype == torch.bool


def test_adapters_keep_the_types_of_columns():
    """Their specs describe them, and most libraries know no Tuple."""
    pytest.importorskip("dm_env")
    env = wl.make("Blackjack-v1", N, env_type="dm", device="python", seed=0)
    assert env.reset().observation.obs.shape == (N, 3)
    lake = wl.make("FrozenLake-v1", N, env_type="dm", device="python", seed=0)
    lake.observation_spec().obs.validate(lake.reset().observation.obs[0])


# ---------------------------------------------------------------- seeds


def test_np_random_seed():
    env = make(seed=7)
    assert (env.np_random_seed, env.get_attr("np_random_seed")) == (7, (7,) * N)
    first, _ = env.reset(seed=11)
    assert env.np_random_seed == 11
    assert env.np_random.integers(1000) == np.random.default_rng(11).integers(1000)
    env.reset(seed=[4, 5, 6])
    assert env.np_random_seed == (4, 5, 6)
    env.reset(seed=[None, 9, None])
    assert env.np_random_seed == (4, 9, 6)
    env.reset(seed=2**64 - 1, options={"reset_mask": np.array([True, False, False])})
    assert env.np_random_seed == (2**64 - 1, 9, 6)
    env.reset()
    assert env.np_random_seed == (2**64 - 1, 9, 6), "a reset without a seed continues the random numbers"
    assert np.array_equal(env.reset(seed=11)[0], first)


def test_a_seed_that_was_drawn_repeats_the_episodes():
    env = make(seed=None)
    first, _ = env.reset()
    assert isinstance(env.np_random_seed, int)
    assert np.array_equal(env.reset(seed=env.np_random_seed)[0], first)
    single = WorldEnv("CartPole-v1", device="python")
    observation, _ = single.reset()
    assert np.array_equal(single.reset(seed=single.np_random_seed)[0], observation)
    assert single.np_random_seed == single.get_wrapper_attr("np_random_seed")


@pytest.mark.parametrize("seed", [3, np.int64(3), np.array([3, 3, 3]), (3, 3, 3), [3, 3, 3], [3, None, 3]])
def test_forms_of_seeds(seed):
    env, expected = make(seed=99), make(seed=3).reset(seed=3)[0]
    seeded = [0, 2] if isinstance(seed, list) and None in seed else [0, 1, 2]
    assert np.array_equal(env.reset(seed=seed)[0][seeded], expected[seeded])


# ---------------------------------------------------------------- resets


def test_reset_masks():
    env = make(SKY)
    before = env.step(np.ones((N, 1)))[0]
    for mask in (np.array([True, False, False]), [True, False, False], torch.tensor([True, False, False])):
        observations, _ = env.reset(options={"reset_mask": mask})
        assert np.array_equal(observations[1:], before[1:])
    for wrong, words in (
        (np.zeros(N, bool), "the reset mask selects no world"),
        (np.ones(N, int), "a reset mask holds one truth value per world"),
        (np.ones(N + 1, bool), r"shape \(3,\)"),
    ):
        with pytest.raises(InputError, match=words):
            env.reset(options={"reset_mask": wrong})


@pytest.mark.parametrize("mode", MODES)
def test_the_end_of_an_episode(mode):
    env = make(autoreset=mode, max_episode_steps=2)
    env.reset()
    actions = np.zeros(N, int)
    env.step(actions)
    last = env.step(actions)
    assert last[3].all()
    if mode == "same_step":
        assert set(last[4]) == {"final_obs", "_final_obs", "final_info", "_final_info"}
        assert last[4]["_final_obs"].all() and env.get_attr("step") == (0,) * N
    elif mode == "next_step":
        assert last[4] == {} and env.get_attr("step") == (2,) * N
        _, rewards, terminations, truncations, _ = env.step(actions)
        assert not rewards.any() and not terminations.any() and not truncations.any()
        assert env.get_attr("step") == (0,) * N
    else:
        with pytest.raises(InputError, match="world 0 is over"):
            env.step(actions)
        env.reset(options={"reset_mask": np.ones(N, bool)})
        assert not env.step(actions)[3].any()


def test_infos_are_arrays_with_masks():
    env = make(MEADOW, max_episode_steps=1)
    _, infos = env.reset()
    assert set(infos) == {"day", "_day", "nectar", "_nectar"}
    infos = env.step(env.action_space.sample())[4]
    assert infos["nectar"].shape == (N, 2) and infos["_nectar"].dtype == np.bool_
    assert set(infos["final_info"]) == {"day", "_day", "nectar", "_nectar"}
    assert infos["final_info"]["day"].shape == infos["_final_info"].shape == (N,)


# ---------------------------------------------------------------- attributes of worlds


def test_attributes_are_read():
    env = make(force=[1.0, 2.0, 3.0], render_mode="rgb_array")
    assert env.get_attr("force") == env.call("force") == (1.0, 2.0, 3.0)
    assert env.get_attr("tau") == (np.float32(0.02),) * N
    assert env.get_attr("render_mode") == ("rgb_array",) * N
    assert env.get_attr("action_space") == (gymnasium.spaces.Discrete(2),) * N
    assert env.get_attr("spec") == (None,) * N
    env.reset()
    x = env.simulation["Cart"].x.numpy()[:, 0]
    assert env.get_attr("x") == env.get_attr("Cart.x") == tuple(x.tolist())
    assert env.call("get_wrapper_attr", "force") == (1.0, 2.0, 3.0)
    assert env.call("has_wrapper_attr", "force") == (True,) * N
    assert env.call("has_wrapper_attr", "mass_of_the_moon") == (False,) * N
    assert [frame.shape[2] for frame in env.call("render")] == [3] * N
    assert make().call("render") == (None,) * N


def test_attributes_are_arrays_where_components_are():
    env = make(MEADOW)
    env.reset()
    assert [value.shape for value in env.get_attr("place")] == [(2, 2)] * N
    assert [value.shape for value in env.get_attr("World.rain")] == [(2,)] * N
    env.get_attr("place")[0][:] = 99.0
    assert not (env.get_attr("place")[0] == 99.0).any(), "what was read is a copy"


def test_attributes_are_set():
    env = make()
    env.set_attr("force", 2.0)
    assert env.get_attr("force") == (2.0,) * N
    env.set_attr("force", [1.0, 2.0, 3.0])
    assert env.simulation.get_config("force").tolist() == [1.0, 2.0, 3.0]
    env.set_attr("x", [0.1, 0.2, 0.3])
    assert env.simulation["Cart"].x.numpy()[:, 0].tolist() == pytest.approx([0.1, 0.2, 0.3])
    env.set_attr("Cart.x", 0.5)
    assert env.get_attr("x") == (0.5,) * N
    assert env.call("set_wrapper_attr", "x", 0.25) == (True,) * N
    assert env.get_attr("x") == (0.25,) * N


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda env: env.get_attr("speed"), AttributeError, "the worlds of 'CartPole-v1' have no attribute 'speed'"),
        (lambda env: env.call("explode"), AttributeError, "no attribute 'explode'"),
        (lambda env: env.get_attr("Dog.x"), AttributeError, "no attribute 'Dog.x'"),
        (lambda env: env.set_attr("speed", 1.0), AttributeError, "no attribute 'speed'"),
        (lambda env: env.set_attr("force", [1.0]), InputError, "needs one value for all worlds or 3, not 1"),
        (lambda env: env.set_attr("x", np.zeros((4, 4))), InputError, "'x' is one value of shape"),
        (lambda env: env.set_attr("render_mode", "human"), InputError, "belongs to all worlds of the batch"),
        (lambda env: env.call("step", 0), InputError, r"call\('step'\) would bypass the batch: use step\(\)"),
    ],
)
def test_attributes_that_there_are_not(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong(make())


def test_names_of_several_tables(crowd):
    env = make(crowd)
    with pytest.raises(AttributeError, match=r"'place' is a component of several tables: .* Walker.place, Lamp.place"):
        env.get_attr("place")
    assert env.get_attr("Lamp.place")[0].shape == (3, 2)


# ---------------------------------------------------------------- rendering


def test_lists_of_frames():
    """As Gymnasium's RenderCollection: the frames since the last call, or since the episode began."""
    env = make(MEADOW, render_mode="rgb_array_list", autoreset="next_step", max_episode_steps=3)
    env.simulation.set_config("wind", 0.0)
    env.reset()
    env.step(env.action_space.sample())
    assert [len(frames) for frames in env.render()] == [2 if step else 1 for step in env.get_attr("step")]
    env.reset()
    assert [len(frames) for frames in env.render()] == [1] * N
    assert [len(frames) for frames in env.render()] == [0] * N
    collected = [1] * N
    env.reset()
    for _ in range(12):
        env.step(env.action_space.sample())
        collected = [1 if step == 0 else n + 1 for n, step in zip(collected, env.get_attr("step"), strict=True)]
    frames = env.render()
    assert [len(images) for images in frames] == collected
    assert frames[0][0].dtype == np.uint8 and frames[0][0].shape == (4, 6, 3)


def test_lists_of_frames_of_one_world():
    env = gymnasium.make("worldloom/CartPole-v1", device="python", render_mode="rgb_array_list")
    env.reset(seed=0)
    for _ in range(3):
        env.step(0)
    frames = env.render()
    assert isinstance(frames, list) and len(frames) == 4 and env.render() == []


def test_people_see_every_step(monkeypatch):
    shown = []

    class Screen:
        def show(self, image):
            shown.append(image.shape)

        def close(self):
            shown.append("closed")

    monkeypatch.setattr("worldloom.vector.render_modes.open_screen", lambda title, fps: Screen())
    env = WorldVectorEnv(MEADOW, 20, device="python", render_mode="human", seed=0)
    env.reset()
    env.step(env.action_space.sample())
    assert env.render() is None
    env.close()
    assert shown == [(16, 24, 3), (16, 24, 3), "closed"], "sixteen worlds of 4 x 6 pixels"
