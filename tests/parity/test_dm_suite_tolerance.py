"""Sigmoids of rewards against those of dm_control."""

import numpy as np
import pytest
from dm_control.utils import rewards

import worldloom as wl
from worldloom.envs.dm_suite import tolerance
from worldloom.envs.dm_suite.tolerance import asinh, excess, log1p, within

NUM_WORLDS = 200
SIGMOIDS = ("gaussian", "hyperbolic", "long_tail", "reciprocal", "cosine", "linear", "quadratic", "tanh_squared")


class Number(wl.Entity):
    x: wl.float64
    value: wl.float64


class Line(wl.World):
    pass


def results(system):
    """The results of a system for numbers on both sides of the bounds, which are among them."""
    x = np.concatenate([np.linspace(-6.0, 8.0, NUM_WORLDS - 4), [-1.0, 2.0, 1e-12, -1e-12]])
    world = wl.Definition("Sigmoid-v0", Line, {Number: 1}, step=(system,))
    simulation = wl.Simulation(world, num_worlds=NUM_WORLDS, device="cpu")
    simulation[Number].x = x.reshape(NUM_WORLDS, 1)
    simulation.step()
    return x, simulation[Number].value.numpy().reshape(-1)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_tolerance_is_that_of_dm_control(name):
    sigmoid = getattr(tolerance, name)

    @wl.system
    def reward(number: Number):
        number.value = sigmoid(excess(number.x, -1.0, 2.0, 2.5), 0.3)

    x, values = results(reward)
    expected = rewards.tolerance(x, (-1.0, 2.0), 2.5, name, 0.3)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)


def test_a_margin_of_0_is_an_indicator():
    @wl.system
    def reward(number: Number):
        number.value = within(number.x, -1.0, 2.0)

    x, values = results(reward)
    np.testing.assert_array_equal(values, rewards.tolerance(x, (-1.0, 2.0)))


def test_functions_of_sensors_keep_their_precision():
    @wl.system
    def scale(number: Number):
        number.value = log1p(abs(number.x)) + asinh(number.x)

    x, values = results(scale)
    np.testing.assert_allclose(values, np.log1p(abs(x)) + np.arcsinh(x), rtol=1e-12, atol=1e-25)
