"""Q networks: shapes, duelling streams, modules from outside, and what is refused."""

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.q_network import QNetwork

CHOICE = ActionSpec("categorical", sizes=(6,))
SPEC = PolicySpec({"sight": ObservationSpec((3,))}, CHOICE)


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize(
    ("observations", "seen"),
    [
        (SPEC.observations, {"sight": torch.randn(5, 3)}),
        ({"place": ObservationSpec((), torch.int32, (16,))}, {"place": torch.arange(5, dtype=torch.int32)}),
        (
            {"screen": ObservationSpec((4, 36, 40), torch.uint8, channels="first")},
            {"screen": torch.randint(0, 256, (5, 4, 36, 40), dtype=torch.uint8)},
        ),
    ],
)
def test_a_number_for_each_choice(observations, seen, dueling):
    network = QNetwork(PolicySpec(observations, CHOICE), PolicyConfig(dueling=dueling))
    assert network(seen).shape == (5, 6)
    with torch.autocast("cpu", torch.bfloat16):
        assert network(seen).dtype == torch.float32


def test_the_value_of_the_state_is_the_mean_of_duelling_choices():
    network = QNetwork(SPEC, PolicyConfig(dueling=True))
    seen = {"sight": torch.randn(5, 3)}
    features, head = network.network[0](seen), network.network[1]
    values = network(seen)
    torch.testing.assert_close(values.mean(1, keepdim=True), head.value(features))
    advantage = head.advantage(features)
    torch.testing.assert_close(values - values[:, :1], advantage - advantage[:, :1])


def test_observations_are_normalised():
    network = QNetwork(SPEC, PolicyConfig(normalize_observations=True))
    seen = torch.randn(400, 3) * 5 + 7
    network.normalizer.update({"sight": seen})
    by_hand = (seen - seen.mean(0)) / seen.std(0, correction=0)
    torch.testing.assert_close(network({"sight": seen}), network.network({"sight": by_hand}), rtol=1e-4, atol=1e-4)


def test_a_module_from_outside():
    module = torch.nn.Linear(3, 6)
    seen = torch.randn(5, 3)
    assert torch.equal(QNetwork(SPEC, PolicyConfig(), module)({"sight": seen}), module(seen))
    with pytest.raises(
        InputError, match=r"Linear.forward returned as Q values a tensor \(5, 2\): make it one tensor \(5, 6\)"
    ):
        QNetwork(SPEC, PolicyConfig(), torch.nn.Linear(3, 2))({"sight": seen})


@pytest.mark.parametrize(
    "action", [ActionSpec("categorical", sizes=(2, 3)), ActionSpec("gaussian", low=(-1.0,), high=(1.0,))]
)
def test_other_actions_are_refused(action):
    with pytest.raises(InputError, match="a Q network chooses among one set of choices"):
        QNetwork(PolicySpec(SPEC.observations, action), PolicyConfig())


def test_settings_that_do_not_go_together_are_refused():
    with pytest.raises(InputError, match="a Q network is not recurrent, and memory is 'gru'"):
        QNetwork(SPEC, PolicyConfig(memory="gru"))
    with pytest.raises(InputError, match="dueling applies to worldloom's networks only"):
        QNetwork(SPEC, PolicyConfig(dueling=True), torch.nn.Linear(3, 6))
