"""The texts of ``--search``: what they mean, and one clear sentence for each that means nothing."""

import numpy as np
import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.experiments.search.apply_settings import setting_of, with_settings
from worldloom.learn.experiments.search.dimension import Choices, Range, format_value
from worldloom.learn.experiments.search.search_space import parse_dimension, parse_space
from worldloom.learn.runs.training_request import TrainingRequest

REQUEST = TrainingRequest("CartPole-v1", "ppo", PPOConfig())


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("learning_rate=1e-4:1e-2:log", Range("learning_rate", 1e-4, 1e-2, log=True)),
        ("learning-rate=1e-4:1e-2", Range("learning_rate", 1e-4, 1e-2)),
        ("epochs=1:8", Range("epochs", 1, 8, integer=True)),
        ("num_envs=16:1e3:log", Range("num_envs", 16, 1000, integer=True, log=True)),
        ("clip=0.1:0.4:0.1", Range("clip", 0.1, 0.4, step=0.1)),
        ("num_envs=256,1024", Choices("num_envs", (256, 1024))),
        ("total_steps=1e5,1e6", Choices("total_steps", (100_000, 1_000_000))),
        ("schedule=constant,linear", Choices("schedule", ("constant", "linear"))),
        ("normalize_advantages=true,false", Choices("normalize_advantages", (True, False))),
        ("policy.hidden=(32,32),(64,)", Choices("policy.hidden", ([32, 32], [64]))),
        ("Cart:gamma=0.9:0.99", Range("Cart:gamma", 0.9, 0.99)),
    ],
)
def test_a_text_is_a_range_or_choices(text, dimension):
    assert parse_dimension(text, REQUEST) == dimension


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CartPole-v1", "--search takes a setting and the values to try, such as"),
        ("=1:2", "--search takes a setting and the values to try, such as"),
        ("epochs=", "--search takes a setting and the values to try, such as"),
        ("learnin_rate=1:2", "ppo has no setting 'learnin_rate': there are num_envs, "),
        ("policy.hiden=1,2", "ppo has no setting 'policy.hiden': there are network, "),
        ("policy=1,2", "ppo has no setting 'policy'"),
        ("Dog:gamma=0.1:0.2", "there is no policy 'Dog': there are Cart"),
        ("Cart:num_envs=8,16", "policy 'Cart' cannot have its own num_envs"),
        ("seed=0:10", "seed is the same in all trainings; give --seed"),
        ("eval_every=1,2", "give --eval-every"),
        ("epochs=4", "4 is one value; give a range such as 1:8"),
        ("epochs=8:2", "the range must go up, and 2 is not above 8"),
        ("gamma=0:1:log", "a logarithmic range starts above 0, not at 0"),
        ("gamma=0.5:2", "gamma must lie between 0 and 1, not be 2.0"),
        ("epochs=1:2.5", "2.5 is not a whole number"),
        ("epochs=1:x", "'x' is not a number; a range is LOW:HIGH"),
        ("clip=0.1:inf", "the bound inf is not finite"),
        ("clip=0.1:0.4:1", "the step must be above 0 and at most 0.3, not 1"),
        ("clip=0.1:0.4:0.1:log", "a range is LOW:HIGH, LOW:HIGH:log or LOW:HIGH:STEP"),
        ("schedule=1:2", "schedule is not a number; give choices"),
        ("schedule=constant,cubic", "setting 'schedule' cannot be 'cubic': give one of constant, linear, kl"),
        ("policy.hidden=32,64", "setting 'policy.hidden' cannot be 32"),
        ("epochs=2,,4", "a choice is empty"),
        ("epochs=2,4,2", "the choice 2 is named twice"),
        ("epochs=2,words", "setting 'epochs' cannot be 'words': give a whole number"),
    ],
)
def test_a_text_that_means_nothing_is_one_clear_sentence(text, message):
    with pytest.raises(InputError) as error:
        parse_dimension(text, REQUEST)
    assert message in str(error.value) and str(error.value).startswith("--search ") and "\n" not in str(error.value)


def test_each_setting_is_named_once_and_one_at_least():
    with pytest.raises(InputError, match="--search names epochs twice"):
        parse_space(["epochs=1:8", "epochs=2,4"], REQUEST)
    with pytest.raises(InputError, match="--search needs a setting"):
        parse_space([], REQUEST)


def test_settings_are_applied_to_a_request():
    values = {"epochs": 2, "policy.hidden": [8], "Cart:gamma": 0.5}
    request = with_settings(REQUEST, values)
    assert request.config == PPOConfig(epochs=2, policy=PolicyConfig(hidden=(8,)))
    assert request.config_of("Cart").gamma == 0.5
    assert {name: setting_of(request, name) for name in values} == values


def test_samples_are_in_the_range():
    random = np.random.default_rng(0)
    for text in ("learning_rate=1e-4:1e-2:log", "epochs=1:8", "clip=0.1:0.4:0.1", "schedule=constant,linear"):
        dimension = parse_dimension(text, REQUEST)
        values = [dimension.sample(random) for _ in range(300)]
        assert all(map(dimension.contains, values))
        assert len(set(values)) == {"epochs": 8, "clip": 4, "schedule": 2}.get(dimension.name, 300)
    rates = [Range("learning_rate", 1e-4, 1e-2, log=True).sample(random) for _ in range(300)]
    assert 0.4 < np.mean(np.array(rates) < 1e-3) < 0.6  # half of them below the geometric mean


def test_values_are_perturbed_within_the_range():
    random = np.random.default_rng(0)
    rate, epochs = Range("learning_rate", 1e-4, 1e-2, log=True), Range("epochs", 1, 8, integer=True)
    assert rate.perturbed(1e-3, 1.25, random) == pytest.approx(1.25e-3) and rate.perturbed(9e-3, 1.25, random) == 1e-2
    assert [epochs.perturbed(value, 1.25, random) for value in (1, 2, 4, 8)] == [2, 3, 5, 8]
    assert [epochs.perturbed(value, 0.8, random) for value in (1, 2, 4, 8)] == [1, 1, 3, 6]
    choices = Choices("schedule", ("constant", "linear", "kl"))
    assert (
        choices.perturbed("linear", 1.25, random) == "kl" and choices.perturbed("constant", 0.8, random) == "constant"
    )


def test_values_are_shown_shortly():
    assert [format_value(value) for value in (0.00123456, 8, [32, 64], "kl", True)] == [
        "0.001235",
        "8",
        "32x64",
        "kl",
        "True",
    ]


def test_steps_reach_the_upper_end_and_stay_in_the_range():
    range_ = Range("clip", 0.1, 0.7, step=0.1)  # 0.1 + 6 * 0.1 is above 0.7 as a float
    samples = {range_.sample(np.random.default_rng(seed)) for seed in range(100)}
    assert len(samples) == 7 and max(samples) == 0.7 and all(map(range_.contains, samples))
    assert not range_.contains(0.25) and not Range("epochs", 1, 5, integer=True, step=2).contains(2)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (f"num_envs={','.join(map(str, range(1, 10_001)))}", "there are 10,000 choices, and at most 1,000 are tried"),
        (f"num_envs={','.join(map(str, range(1, 200_001)))}", "1,288,903 characters, and at most 100,000 are read"),
        (f"learning_rate={'1' * 90}", "1{60,}...: "),
    ],
)
def test_texts_that_would_take_minutes_are_refused_at_once(text, match):
    with pytest.raises(InputError, match=match) as caught:
        parse_space([text], REQUEST)
    assert len(str(caught.value)) < 300


def test_a_thousand_choices_are_searched_and_told_apart():
    (choices,) = parse_space([f"num_envs={','.join(map(str, range(1, 1001)))}"], REQUEST)
    assert choices.contains(1000) and not any(map(choices.contains, (1001, 1.0, True, "1", None, {1}, [1])))
