"""Worlds on a GPU do not go into compiled JAX programs yet, and say so."""

import pytest

import worldloom as wl

pytest.importorskip("jax")


def test_worlds_on_a_gpu_are_refused():
    env = wl.make("CartPole-v1", 16, device="cuda:0", seed=0)
    with pytest.raises(wl.InputError, match="for worlds on the CPU"):
        env.xla()
