"""Worlds on a GPU inside compiled JAX programs."""

import numpy as np
import pytest

import worldloom as wl


@pytest.fixture
def jax():
    """JAX with a GPU; without one it is not even imported, which takes a second."""
    module = pytest.importorskip("jax")
    try:
        module.devices("cuda")
    except RuntimeError:
        pytest.skip("JAX is installed without CUDA")
    return module


@pytest.mark.parametrize("with_torch", [False, True])
def test_a_scan_is_the_plain_loop(jax, with_torch):
    """Also where PyTorch has work of its own on the same GPU, whose stream the engine otherwise follows."""
    if with_torch:
        torch = pytest.importorskip("torch")
        torch.zeros(1, device="cuda:0")
    actions = np.random.default_rng(0).integers(0, 2, (1000, 64), dtype=np.int32)
    inside, outside = (wl.make("CartPole-v1", 64, device="cuda:0", seed=3) for _ in range(2))
    inside.reset(seed=4)
    outside.reset(seed=4)
    handle, recv, _, step = inside.xla()
    assert handle.devices() == {jax.devices("cuda")[0]}

    @jax.jit
    def roll(handle, actions):
        handle, first = recv(handle)
        handle, outcomes = jax.lax.scan(step, handle, actions)
        return handle, first[0], outcomes

    _, first, outcomes = jax.device_get(roll(handle, actions))
    assert np.array_equal(first, outside.batch.observations())
    for number, given in enumerate(actions):
        expected = outside.step(given)
        for place in range(4):
            assert np.array_equal(outcomes[place][number], expected[place]), (number, place)


def test_worlds_go_on_outside_after_a_program(jax):
    env = wl.make("CartPole-v1", 16, device="cuda:0", seed=0, env_type="torch")
    handle, _, send, _ = env.xla()
    handle = jax.block_until_ready(
        jax.jit(lambda handle: send(send(handle, np.zeros(16, np.int32)), np.ones(16, np.int32)))(handle)
    )
    env.step(np.zeros(16, np.int32))
    assert env.simulation.world.step.numpy().tolist() == [3] * 16
