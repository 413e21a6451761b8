"""Springs of contacts and joints act up to a quarter of the rate of substeps; a configuration above it is warned of."""

import warnings

import numpy as np
import pytest
from physics_scenes import FLOOR, SCENE, BodySpec, JointSpec, Thing, simulate

import worldloom as wl
from worldloom import physics


def test_a_frequency_that_acts_as_a_lower_one_is_warned_of() -> None:
    with wl.Simulation(SCENE.id, 2, "python", seed=0) as sim:
        with pytest.warns(UserWarning, match=r"contact_frequency is 120 Hz and acts as 30 Hz.* give it 16 substeps"):
            sim.set_config("contact_frequency", 120.0)
        with pytest.warns(UserWarning, match="120 Hz and acts as 60 Hz") as warned:
            sim.set_config("substeps", 8)
        assert warned[0].filename == __file__
        with pytest.warns(UserWarning, match="200 Hz and acts as 60 Hz"):
            sim.set_config("contact_frequency", np.array([30.0, 200.0], np.float32))
        with pytest.warns(UserWarning, match=r"joint_frequency is 90 Hz and acts as 60 Hz.* give it 12 substeps"):
            sim.set_config("joint_frequency", 90.0)


def test_the_warning_of_a_configuration_at_the_start_names_the_caller() -> None:
    with pytest.warns(UserWarning, match="120 Hz and acts as 30 Hz") as warned:
        wl.make(SCENE.id, 1, device="python", seed=0, contact_frequency=120.0).close()
    assert warned[0].filename == __file__


def test_declared_frequencies_are_warned_of_once_with_the_final_numbers() -> None:
    class Stiff(physics.World):
        contact_frequency: wl.Config = 120.0

    solid = physics.systems(Stiff, Thing, shapes=(physics.BOX,))
    kinds = {Thing: wl.UpTo(1), **solid.entities(pairs=1, contacts=1)}
    stiff = wl.Definition("Stiff", Stiff, kinds, step=tuple(solid.step))
    with pytest.warns(UserWarning, match="contact_frequency is 120 Hz and acts as 30 Hz") as warned:
        wl.Simulation(stiff, 1, "python", seed=0).close()
    assert len(warned) == 1 and warned[0].filename == __file__
    with pytest.warns(UserWarning, match="120 Hz and acts as 60 Hz") as warned:
        wl.Simulation(stiff, 1, "python", seed=0, config={"substeps": 8, "contact_frequency": 120.0}).close()
    assert len(warned) == 1
    with pytest.warns(UserWarning, match="contact_frequency is 30 Hz and acts as 7.5 Hz"):
        wl.Simulation(SCENE.id, 1, "python", seed=0, config={"substeps": 1}).close()


def test_frequencies_that_act_as_given_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = {"contact_frequency": 120.0, "substeps": 16}  # in any order
        with wl.Simulation(SCENE.id, 1, "python", seed=0, config=config) as sim:
            sim.set_config("contact_frequency", 119.0)
            sim.set_config("joint_frequency", 120.0)
            sim.set_config("joint_frequency", 0.0)  # rigid
        wl.Simulation("EscapeRoom-v0", 1, "python", seed=0).close()  # its defaults


def test_a_higher_frequency_makes_contacts_stiffer() -> None:
    """Plates of 5 mm with an area of 1 m²: without the substeps, 120 Hz would act as 30 Hz."""
    plates = [BodySpec(physics.BOX, (0.5, 0.5, 0.0025), (0.0, 0.0, 0.0025 + 0.005 * k)) for k in range(10)]
    sunk = []
    for frequency in (30.0, 120.0):
        sim = simulate([FLOOR, *plates], substeps=16, contact_frequency=frequency, max_depth=1e30)
        for _ in range(150):
            sim.step()
        assert sim.errors() == []
        sunk.append(0.0475 - float(sim[Thing].position.numpy()[0, 10, 2]))
    assert sunk[1] < 0.2 * sunk[0] and sunk[1] < 0.005


def test_a_joint_frequency_is_the_rate_at_which_a_gap_closes() -> None:
    """Rigid joints close a gap at once, those with a frequency as damped springs."""
    post = BodySpec(size=(0.1, 0.1, 0.1), position=(0.0, 0.0, 3.0), motion=physics.STATIC)
    ball = BodySpec(physics.SPHERE, (0.1, 0.0, 0.0), (0.05, 0.0, 3.0))  # 5 cm from its place
    joint = JointSpec(physics.BALL, 0, 1)
    gaps = []
    for frequency in (0.0, 2.0, 20.0):
        sim = simulate([post, ball], joints=(joint,), joint_frequency=frequency, gravity=np.zeros(3, np.float32))
        sim.step()
        assert sim.errors() == []
        gaps.append(abs(float(sim[Thing].position.numpy()[0, 1, 0])))
    assert gaps[0] < 1e-6 < 1e-3 < gaps[2] < gaps[1] < 0.05
