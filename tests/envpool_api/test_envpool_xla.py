"""Compiled JAX programs in the form of EnvPool's examples."""

# ruff: noqa: RUF059  (the programs keep the names that they unpack)

import gc
import weakref

import numpy as np
import pytest

import worldloom.envpool as envpool
from worldloom.core.base.errors import InputError
from worldloom.envpool import gym_v21

jax = pytest.importorskip("jax")
from jax import jit, lax  # noqa: E402
from jax import numpy as jnp  # noqa: E402


def policy(states):
    return (states[:, 2] + states[:, 3] > 0).astype(jnp.int32)


def loop(actor_step, num_steps, init):
    return jit(lambda n, value: lax.fori_loop(0, n, actor_step, value))(num_steps, init)


def test_a_synchronous_program_gives_the_results_of_a_loop():
    env, other = (envpool.make_gym("CartPole-v1", num_envs=4, seed=1) for _ in range(2))
    handle, recv, send, step = env.xla()

    def actor_step(_, loop_var):
        handle0, states, total = loop_var
        handle1, (new_states, rew, term, trunc, info) = step(handle0, policy(states))
        return handle1, new_states, total + rew

    states, _ = env.reset()
    _, compiled, total = loop(actor_step, 100, (handle, states, np.zeros(4, np.float32)))
    states, _ = other.reset()
    expected = np.zeros(4, np.float32)
    for _ in range(100):
        states, reward, *_ = other.step(np.asarray(policy(states)))
        expected += reward
    np.testing.assert_array_equal(compiled, states)
    np.testing.assert_array_equal(total, expected)


def test_gym_before_0_26():
    env = gym_v21.make("CartPole-v1", env_type="gym", num_envs=4)
    handle, recv, send, step = env.xla()

    def actor_step(_, loop_var):
        handle0, states = loop_var
        handle1, (new_states, rew, done, info) = step(handle0, policy(states))
        return handle1, new_states

    _, states = loop(actor_step, 20, (handle, env.reset()))
    assert states.shape == (4, 4)


def test_synchronous_dm():
    env = envpool.make_dm("CartPole-v1", num_envs=4)
    handle, recv, send, step = env.xla()

    def actor_step(_, loop_var):
        handle0, states = loop_var
        return step(handle0, policy(states.observation.obs))

    _, states = loop(actor_step, 20, (handle, env.reset()))
    assert states.observation.env_id.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("num_envs", "batch_size", "overlap"), [(8, 4, True), (8, 4, False), (10, 9, False)])
def test_asynchronous_dm(num_envs, batch_size, overlap):
    """With ``overlap`` as in EnvPool's example: ``recv`` does not wait for ``send``, since others are stepping."""
    env = envpool.make_dm("CartPole-v1", num_envs=num_envs, batch_size=batch_size)
    handle, recv, send, step = env.xla()

    def actor_step(_, loop_var):
        handle0, states = loop_var
        handle1 = send(handle0, policy(states.observation.obs), states.observation.env_id)
        return recv(handle0 if overlap else handle1)

    env.async_reset()
    handle, states = recv(handle)
    _, states = loop(actor_step, 50, (handle, states))
    assert len(set(states.observation.env_id.tolist())) == batch_size
    env.close()


def test_asynchronous_gymnasium_with_recv_before_send():
    env = envpool.make_gymnasium("CartPole-v1", num_envs=8, batch_size=4)
    handle, recv, send, step = env.xla()

    def actor_step(_, handle0):
        handle1, (states, rew, term, trunc, info) = recv(handle0)
        return send(handle1, policy(states), info["env_id"])

    env.async_reset()
    jax.block_until_ready(loop(actor_step, 50, handle))
    assert len(env.recv()[0]) == 4
    env.close()


def test_compiled_programs_do_not_keep_their_pool():
    env = envpool.make_gymnasium("CartPole-v1", num_envs=4, batch_size=2)
    handle, recv, send, step = env.xla()
    env.async_reset()
    jax.block_until_ready(jit(recv)(handle))
    pool = weakref.ref(env)
    del env, handle, recv, send, step
    gc.collect()
    assert pool() is None


def test_float64_observations_need_x64():
    env = envpool.make_gym("Ant-v4", num_envs=2)
    with pytest.raises(InputError, match="jax_enable_x64"):
        env.xla()


def test_actions_of_another_shape_are_refused():
    env = envpool.make_gym("CartPole-v1", num_envs=4)
    handle, recv, send, step = env.xla()
    with pytest.raises(InputError, match=r"takes an array of shape \(4,\), not \(3,\)"):
        step(handle, np.zeros(3, np.int32))
