"""Settings of Atari worlds: defaults, validation and text form."""

import dataclasses
import inspect

import numpy as np
import pytest

import worldloom as wl
from worldloom.atari.env.settings import (
    DEFAULTS,
    ENVPOOL,
    GYMNASIUM,
    NAMES,
    VECTOR,
    Settings,
    format_settings,
    parse_settings,
    resolve_settings,
)


def test_the_defaults_are_envpools():
    envpool = pytest.importorskip("envpool")
    theirs = envpool.make_spec("Pong-v5").config._asdict()
    shared = theirs.keys() & {f.name for f in dataclasses.fields(Settings)}
    assert {name: theirs[name] for name in shared - {"mode", "difficulty"}} == {
        name: getattr(ENVPOOL, name) for name in shared - {"mode", "difficulty"}
    }
    assert len(shared) == 16 and (theirs["mode"], theirs["difficulty"]) == (-1, -1)


def test_those_of_the_vector_environment_are_ale_pys():
    vector_env = pytest.importorskip("ale_py.vector_env")
    theirs = {
        name: p.default
        for name, p in inspect.signature(vector_env.AtariVectorEnv.__init__).parameters.items()
        if name in NAMES
    }
    assert resolve_settings(theirs, "vector") == VECTOR
    assert len(theirs) == 16


def test_those_of_ale_are_gymnasiums():
    gymnasium, ale_py = pytest.importorskip("gymnasium"), pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    theirs = dict(gymnasium.spec("ALE/Pong-v5").kwargs)
    assert theirs.pop("game") == "pong"
    assert resolve_settings(theirs, "gymnasium") == GYMNASIUM


@pytest.mark.parametrize("id_", ["Pong-v0", "Pong-v4", "PongNoFrameskip-v0", "PongNoFrameskip-v4"])
def test_those_of_older_ids_are_gymnasiums(id_):
    gymnasium, ale_py = pytest.importorskip("gymnasium"), pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    theirs = dict(gymnasium.spec(id_).kwargs)
    assert wl.definition(id_) is wl.definition(
        "ALE/Pong-v5", **{name: value for name, value in theirs.items() if name != "game"}
    )


@pytest.mark.parametrize("like", DEFAULTS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"frame_skip": (2, 5)},
        {"noop_max": 1, "episodic_life": True},
        {"repeat_action_probability": 0.5, "mode": 4},
        {"like": "vector"},
    ],
)
def test_what_is_written_is_read_again(like, given):
    chosen = resolve_settings(given, like)
    text = format_settings(chosen, like)
    assert resolve_settings(parse_settings(text) if text else {}, like) == chosen
    assert (text == "") == (chosen == DEFAULTS[like])


def test_others_names_mean_the_same():
    theirs = {"frameskip": 2, "grayscale": False, "maxpool": False, "reward_clipping": True}
    assert resolve_settings(theirs) == resolve_settings(
        {"frame_skip": 2, "gray_scale": False, "max_pool": False, "reward_clip": True}
    )
    assert resolve_settings({"obs_type": "grayscale"}, "gymnasium") == resolve_settings(
        {"gray_scale": True}, "gymnasium"
    )
    assert resolve_settings({"obs_type": "rgb"}).gray_scale is False
    assert resolve_settings({"mode": -1, "difficulty": -1}) == ENVPOOL


def test_numpys_numbers_count():
    given = {
        "frame_skip": np.int64(2),
        "reward_clip": np.bool_(True),
        "repeat_action_probability": np.float32(0.25),
        "mode": np.int32(-1),
    }
    assert resolve_settings(given) == resolve_settings(
        {"frame_skip": 2, "reward_clip": True, "repeat_action_probability": 0.25}
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"frame_skip": 0},
            "the setting frame_skip of an Atari world cannot be 0: give a whole number from 1 to 64, or a pair",
        ),
        ({"frame_skip": (3, 3)}, "frame_skip of an Atari world cannot be"),
        ({"frame_skip": True}, "frame_skip of an Atari world cannot be True"),
        ({"stack_num": 0}, "give a whole number from 1 to 64"),
        ({"img_height": 0}, "0 together with img_width=0"),
        ({"noop_max": -1}, "noop_max of an Atari world cannot be -1"),
        ({"reward_clip": 1}, "give True or False"),
        ({"repeat_action_probability": 1.5}, "a number from 0 to 1"),
        ({"mode": -2}, "mode of an Atari world cannot be -2"),
        ({"like": "gym"}, "one of envpool, vector, gymnasium"),
        ({"obs_type": "sound"}, "one of screen, ram"),
        ({"players": 3}, "the setting players of an Atari world cannot be 3: give one of 1, 2, 4"),
        ({"players": 2, "continuous": True}, "several players of an Atari world have discrete actions"),
        ({"episodic_life": True, "life_loss_info": True}, "choose one of them"),
        ({"frame_skp": 1}, "no setting 'frame_skp'; did you mean frame_skip?"),
        ({"frameskip": 2, "frame_skip": 2}, "'frame_skip' of an Atari world is given twice"),
    ],
)
def test_what_cannot_be_is_refused(given, sentence):
    with pytest.raises(wl.InputError) as refused:
        resolve_settings(given)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("text", ["frame_skip", "frame_skip=2,frame_skip=3"])
def test_settings_that_are_badly_written_are_refused(text):
    with pytest.raises(wl.InputError, match="of an Atari world"):
        parse_settings(text)
