"""Worlds in compiled JAX programs give the same results as outside, bit for bit."""

import gc
import weakref

import numpy as np
import pytest
from meadow import MEADOW, SKY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

jax = pytest.importorskip("jax")
jnp = jax.numpy

N = 5


def rolled(env, actions):
    """The first result and those of all ``actions``, from one compiled program."""
    handle, recv, _, step = env.xla()

    @jax.jit
    def roll(handle, actions):
        handle, first = recv(handle)
        handle, outcomes = jax.lax.scan(step, handle, actions)
        return handle, first, outcomes

    return jax.device_get(roll(handle, actions)[1:])


def test_a_scan_is_the_plain_loop():
    actions = np.random.default_rng(0).integers(0, 2, (1000, N))
    inside, outside = wl.make("CartPole-v1", N, seed=3), wl.make("CartPole-v1", N, seed=3)
    first, outcomes = rolled(inside, actions)
    assert np.array_equal(first[0], outside.batch.observations())
    ended = 0
    for step, given in enumerate(actions):
        expected = outside.step(given)
        for place in range(4):
            assert np.array_equal(outcomes[place][step], expected[place]), (step, place)
        over = expected[2] | expected[3]
        assert np.array_equal(outcomes[4]["_final_obs"][step], over)
        if over.any():
            assert np.array_equal(outcomes[4]["final_obs"][step][over], expected[4]["final_obs"][over])
        ended += over.sum()
    assert ended > 100
    assert outcomes[4]["env_id"][0].tolist() == list(range(N))


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_several_actions_and_observations(autoreset):
    inside, outside = (
        WorldVectorEnv(MEADOW, N, device="python", seed=1, autoreset=autoreset, gymnasium_types=False) for _ in range(2)
    )
    sampled = [outside.action_space.sample() for _ in range(20)]
    _, outcomes = rolled(inside, {key: np.stack([part[key] for part in sampled]) for key in sampled[0]})
    for step, given in enumerate(sampled):
        observations, rewards, terminations, truncations, infos = outside.step(given)
        assert all(np.array_equal(outcomes[0][key][step], observations[key]) for key in observations)
        assert [part[step].dtype for part in outcomes[0].values()] == [observations[key].dtype for key in outcomes[0]]
        assert all(
            np.array_equal(one[step], two)
            for one, two in zip(outcomes[1:4], (rewards, terminations, truncations), strict=True)
        )
        assert all(np.array_equal(outcomes[4][key][step], infos[key]) for key in ("day", "_day", "nectar"))
    assert ("final_obs" in outcomes[4]) == (autoreset == "same_step")


def test_send_and_recv_are_a_step():
    split, whole = (WorldVectorEnv(SKY, N, device="python", seed=1) for _ in range(2))
    handle, recv, send, _ = split.xla()
    other, _, _, step = whole.xla()
    for lift in (0.5, -1.0, 2.0):
        actions = jnp.full((N, 1), lift)
        handle, one = recv(send(handle, actions))
        other, two = step(other, actions)
        assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True))


def test_env_ids_say_whose_action_it_is():
    shuffled, plain = (WorldVectorEnv(SKY, N, device="python", seed=1) for _ in range(2))
    handle, _, _, step = shuffled.xla()
    lifts, order = np.arange(N, dtype=np.float32)[:, None], np.array([3, 0, 4, 1, 2])
    _, outcome = jax.jit(step)(handle, lifts[order], order)
    assert np.array_equal(outcome[0], plain.step(lifts)[0])


def test_a_step_whose_outcome_nobody_reads_is_taken():
    env = WorldVectorEnv(SKY, N, device="python", seed=1)
    handle, _, send, _ = env.xla()

    @jax.jit
    def three(handle):
        for _ in range(3):
            handle = send(handle, jnp.full((N, 1), 2.0))
        return handle

    jax.block_until_ready(three(handle))
    assert env.simulation.world.step.numpy().tolist() == [3] * N


def test_a_policy_in_the_loop():
    """Observations determine the next actions, all in one program."""
    inside, outside = wl.make("CartPole-v1", N, seed=0), wl.make("CartPole-v1", N, seed=0)
    handle, recv, _, step = inside.xla()

    @jax.jit
    def play(handle):
        def act(carry, _):
            handle, observations = carry
            handle, (observations, rewards, *_) = step(
                handle, (observations[:, 2] + observations[:, 3] > 0).astype(jnp.int32)
            )
            return (handle, observations), rewards

        handle, (observations, *_) = recv(handle)
        return jax.lax.scan(act, (handle, observations), None, length=200)

    (_, last), rewards = play(handle)
    observations, _ = outside.batch.observations(), None
    for _ in range(200):
        observations, *_ = outside.step((observations[:, 2] + observations[:, 3] > 0).astype(np.int32))
    assert np.array_equal(last, observations)
    assert rewards.sum() == 200 * N


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((N, 3), np.float32), r"Glider.lift takes actions of shape \(5, 1\), not \(5, 3\)"),
        (np.zeros((2, 1), np.float32), r"Glider.lift takes actions of shape \(5, 1\), not \(2, 1\)"),
        ({"wrong": np.zeros((N, 1))}, "actions are a mapping with the keys lift"),
    ],
)
def test_wrong_actions_are_refused_when_traced(actions, message):
    handle, _, _, step = WorldVectorEnv(SKY, N, device="python").xla()
    with pytest.raises(InputError, match=message):
        jax.jit(step)(handle, actions)


def test_real_numbers_are_no_choices():
    handle, _, _, step = WorldVectorEnv("CartPole-v1", N, device="python").xla()
    with pytest.raises(InputError, match=r"Cart\.push takes actions of type int32, not float32"):
        step(handle, np.zeros(N, np.float32))


def test_without_autoreset_there_is_no_program():
    with pytest.raises(InputError, match="make them with autoreset='same_step' or 'next_step'"):
        WorldVectorEnv(SKY, N, device="python", autoreset="disabled").xla()


class Star(wl.Entity):
    shine: wl.Observation(2, dtype=wl.float64)


class Night(wl.World):
    pass


@wl.system
def shine(star: Star):
    star.shine[0] = wl.float64(1.0)


def test_wide_numbers_need_jax_to_be_told():
    night = wl.Definition("Night-test", Night, {Star: 1}, observe=(shine,))
    with pytest.raises(InputError, match=r"Star.shine is float64, .*jax_enable_x64"):
        WorldVectorEnv(night, N, device="python").xla()


def test_closed_worlds_end_the_program(capfd):
    env = WorldVectorEnv(SKY, N, device="python")
    handle, _, _, step = env.xla()
    env.close()
    with pytest.raises(Exception, match="this simulation is closed"):
        jax.block_until_ready(step(handle, np.zeros((N, 1), np.float32)))


def test_jax_does_not_keep_the_worlds():
    env = WorldVectorEnv(SKY, N, device="python")
    handle, recv, _, _ = env.xla()
    jax.block_until_ready(recv(handle))
    assert env.xla()[0] is handle
    gone = weakref.ref(env.simulation)
    del env, handle, recv, _
    gc.collect()
    assert gone() is None
