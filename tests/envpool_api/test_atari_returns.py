"""Points and lives of the last step of a game, where docs/worlds/atari.md tells clients of EnvPool to read them."""

import numpy as np
import pytest

import worldloom as wl
import worldloom.envpool as envpool

pytest.importorskip("ale_py", reason="it holds the ROM of Pong")
SETTINGS = {"noop_max": 1, "obs_type": "ram", "seed": 0}
NUM_ENVS, MAX_STEPS = 2, 1500


def games(step, done_of, points_of, lives_of):
    """The sum of points of the first game of each world, and its lives at the end."""
    totals, lives, over = np.zeros(NUM_ENVS), np.full(NUM_ENVS, -1), np.zeros(NUM_ENVS, bool)
    for _ in range(MAX_STEPS):
        result = step(np.zeros(NUM_ENVS, np.int32))
        done = done_of(result)
        totals += np.where(over, 0, points_of(result))
        lives[done & ~over] = lives_of(result)[done & ~over]
        over |= done
        if over.all():
            return totals, lives
    raise AssertionError("no game ended")


def last(infos, key):
    """An info of the step: that of the episode which ended in it, where one ended."""
    if "final_info" not in infos:
        return infos[key]
    return np.where(infos["_final_info"], infos["final_info"][key], infos[key])


def ended(result):
    return result[2] | result[3]


def test_envpool():
    pool = envpool.make("Pong-v5", env_type="gymnasium", num_envs=NUM_ENVS, **SETTINGS)
    pool.reset()
    totals, lives = games(pool.step, ended, lambda r: r[4]["reward"], lambda r: r[4]["lives"])
    assert totals.tolist() == [-21, -21] and lives.tolist() == [0, 0]


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_make(autoreset):
    env = wl.make("Pong-v5", NUM_ENVS, autoreset=autoreset, **SETTINGS)
    env.reset()
    totals, lives = games(env.step, ended, lambda r: last(r[4], "points"), lambda r: last(r[4], "lives"))
    assert totals.tolist() == [-21, -21] and lives.tolist() == [0, 0]


def test_lives_of_the_last_step():
    """Breakout: the infos of a step in which a game ends are those of the next game, except in ``final_info``."""
    env = wl.make("Breakout-v5", NUM_ENVS, **SETTINGS)
    env.reset()
    actions = np.ones(NUM_ENVS, np.int32)  # always fire
    for _ in range(MAX_STEPS):
        *_, terminated, _, infos = env.step(actions)
        if terminated.any():
            break
    assert (infos["lives"][terminated] == 5).all() and (last(infos, "lives")[terminated] == 0).all()
