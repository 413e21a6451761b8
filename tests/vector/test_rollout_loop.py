"""Rollouts of a policy equal a loop over ``env.step`` bit for bit; policies and tensors that do not fit are errors."""

import copy

import gymnasium
import pytest
import torch
from meadow import MEADOW, SKY
from rollout_cases import assert_same, fly_at_random, hit_below_17, make_actor, play_legally, stepped

import worldloom as wl
from worldloom.vector import DmVectorEnv, SkrlVectorEnv
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.rollouts.rollout import CACHE

N = 6


def make(world, **options):
    return WorldVectorEnv(world, N, seed=3, backend="torch", **options)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize(
    ("world", "policy"),
    [
        ("CartPole-v1", make_actor("cpu")),
        (MEADOW, fly_at_random),
        ("Blackjack-v1", hit_below_17),
        ("HanabiSmall-v0", play_legally),
        (SKY, lambda heights: 0.8 - 0.1 * heights.double()),
    ],
    ids=["actor", "dict", "tuple", "mask", "float64"],
)
def test_a_rollout_is_the_loop_over_steps(world, policy, autoreset):
    torch.manual_seed(5)
    expected = stepped(make(world, autoreset=autoreset), policy, 60)
    torch.manual_seed(5)
    actual = wl.rollout(make(world, autoreset=autoreset), policy, 60)
    assert_same(actual, expected)
    assert (actual.final_observations is None) == (autoreset == "next_step")
    assert (actual.terminations | actual.truncations).any()


def test_rollouts_continue_from_the_current_state():
    policy, env, same = make_actor("cpu"), make("CartPole-v1"), make("CartPole-v1")
    torch.manual_seed(1)
    parts = [wl.rollout(env, policy, steps) for steps in (7, 1, 12)]
    torch.manual_seed(1)
    whole = wl.rollout(same, policy, 20)
    assert torch.equal(torch.cat([part.observations for part in parts]), whole.observations)
    assert torch.equal(parts[0].last_observations, parts[1].observations[0])
    env.reset(seed=3)
    assert torch.equal(wl.rollout(env, policy, 1).observations[0], whole.observations[0])


def test_steps_of_the_environment_and_rollouts_alternate():
    env = make("CartPole-v1")
    wl.rollout(env, lambda observations: torch.zeros(N, dtype=torch.int64), 3)
    observations, *_ = env.step(torch.ones(N, dtype=torch.int64))
    assert env.simulation.world.step.numpy().tolist() == [4] * N
    assert torch.equal(wl.rollout(env, lambda seen: (seen[:, 0] > 0).int(), 2).observations[0], observations)


def test_a_policy_may_take_keys_from_its_observations():
    def policy(observations):
        mask = observations.pop("action_mask")
        return play_legally({"action_mask": mask})

    env = make("HanabiSmall-v0")
    roll = wl.Rollout(env, policy, 3)
    for _ in range(2):
        assert "action_mask" in roll().observations
    assert env.errors() == []


def test_environments_are_copied_without_their_rollouts():
    policy, env = make_actor("cpu"), make("CartPole-v1")
    wl.rollout(env, policy, 3)
    copied = copy.deepcopy(env)
    results = []
    for each in (env, copied):
        torch.manual_seed(1)
        results.append(wl.rollout(each, policy, 5))
    assert_same(*results)


def test_a_rollout_is_kept_and_overwrites_its_tensors():
    policy, env = make_actor("cpu"), make("CartPole-v1")
    roll = wl.Rollout(env, policy, 4)
    first = roll()
    copy = first.clone()
    assert roll() is first and not torch.equal(copy.observations, first.observations)
    one, two = wl.rollout(env, policy, 4), wl.rollout(env, policy, 4)
    assert one.rewards.data_ptr() != two.rewards.data_ptr()
    assert torch.equal(two.observations[0], one.last_observations)


def test_a_rollout_is_made_once_for_each_policy(monkeypatch):
    policy, env = make_actor("cpu"), make("CartPole-v1")
    made = []
    initialize = wl.Rollout.__init__
    monkeypatch.setattr(wl.Rollout, "__init__", lambda self, *a, **k: made.append(a[1]) or initialize(self, *a, **k))
    for act in (policy, policy.forward, policy, policy.forward):  # a method is a new object at every access
        wl.rollout(env, act, 2)
    assert len(made) == 2
    for number in range(20):
        wl.rollout(env, lambda seen, number=number: (seen[:, 0] > number).int(), 2)
    assert len(vars(env.simulation)["_rollouts"]) == 8


def test_parameters_updated_in_place_are_used():
    policy, env = make_actor("cpu"), make("CartPole-v1")
    roll = wl.Rollout(env, policy, 3)
    before = roll().extras["value"].clone()
    optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
    policy(torch.ones(N, 4))[1]["value"].sum().backward()
    optimizer.step()
    result = roll()
    assert torch.equal(result.extras["value"][0], policy(result.observations[0])[1]["value"])
    assert not torch.equal(result.extras["value"], before)


def test_the_policy_runs_without_gradients_and_the_result_can_be_trained_on():
    policy, env = make_actor("cpu"), make("CartPole-v1")
    with torch.inference_mode():
        result = wl.rollout(env, policy, 3)
    assert not result.extras["value"].requires_grad
    policy(result.observations.flatten(0, 1))[1]["value"].sum().backward()
    assert policy.network[0].weight.grad is not None


def test_rewards_of_the_agents():
    torch.manual_seed(4)
    summed = wl.rollout(make(MEADOW), fly_at_random, 12)
    torch.manual_seed(4)
    of_agents = wl.rollout(make(MEADOW), fly_at_random, 12, agent_rewards=True)
    assert of_agents.rewards.shape == (12, N, 2) and summed.rewards.max() == 3.0
    assert torch.equal(of_agents.rewards.sum(2), summed.rewards)
    assert torch.equal(of_agents.observations["sight"], summed.observations["sight"])
    one = wl.rollout(make("CartPole-v1"), lambda seen: (seen[:, 0] > 0).int(), 2, agent_rewards=True)
    assert one.rewards.shape == (2, N)


def test_final_observations_may_be_left_out():
    env = make("CartPole-v1")
    result = wl.rollout(env, lambda seen: torch.zeros(N, dtype=torch.int64), 30, final_observations=False)
    assert result.terminations.any() and result.final_observations is None


def test_tensors_of_the_caller_are_written():
    policy, env, same = make_actor("cpu"), make("CartPole-v1"), make("CartPole-v1")
    out = {"observations": torch.zeros(9, N, 4), "extras": {"log_prob": torch.zeros(9, N), "value": torch.zeros(9, N)}}
    out["actions"] = torch.zeros(9, N, dtype=torch.int64)
    torch.manual_seed(2)
    result = wl.rollout(env, policy, 9, out=out)
    assert result.observations is out["observations"] and result.extras["value"] is out["extras"]["value"]
    torch.manual_seed(2)
    expected = wl.rollout(same, policy, 9)
    assert_same(result, expected)
    values = {"value": torch.zeros(9, N)}
    partial = wl.rollout(same, policy, 9, out={"extras": values}).extras
    assert partial["value"] is values["value"] and not torch.equal(values["value"], result.extras["value"])
    again = wl.rollout(env, policy, 9, out=expected)
    assert again.rewards is expected.rewards and torch.equal(again.observations[0], result.last_observations)


def test_int64_actions_beyond_int32_are_faults():
    env = make("CartPole-v1")
    wl.rollout(env, lambda seen: torch.full((N,), 2**32, dtype=torch.int64), 1)
    assert len(env.errors()) == N


@pytest.mark.parametrize("kind", [DmVectorEnv, SkrlVectorEnv])
def test_adapters_are_environments_too(kind):
    env = kind("CartPole-v1", N, seed=3)
    result = wl.rollout(env, lambda seen: torch.zeros(N, dtype=torch.int32), 5)
    assert result.actions.dtype == torch.int32 and env.worlds.simulation.world.step.numpy().tolist() == [5] * N


def test_a_simulation_is_an_environment_too():
    simulation = wl.Simulation("CartPole-v1", N, device="python", seed=3)
    policy = make_actor("cpu")
    torch.manual_seed(1)
    interpreted = wl.rollout(simulation, policy, 12)
    torch.manual_seed(1)
    compiled = wl.rollout(make("CartPole-v1"), policy, 12)
    assert torch.equal(interpreted.actions, compiled.actions)
    assert torch.allclose(interpreted.observations, compiled.observations, atol=1e-5)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            lambda seen: torch.zeros(N, 2, dtype=torch.int64),
            r"action 'push' of the policy must have shape \(6,\).*6, 2",
        ),
        (lambda seen: torch.zeros(N), "action 'push' of the policy must be torch.int32, not torch.float32"),
        (lambda seen: torch.zeros(N, dtype=torch.int32, device="meta"), "is on meta, but the worlds are on cpu"),
        (lambda seen: None, r"must return actions, or \(actions, extras\).*not NoneType"),
        (lambda seen: (1, 2, 3), "not a tuple of int, int, int"),
        (lambda seen: (seen[:, 0].int(), [1]), "extras is a dict of tensors, not a tuple of Tensor, list"),
        (lambda seen: (seen[:, 0].int(), {"value": 1.0}), "'value' of the policy must be a tensor, not float"),
        (lambda seen: {"pull": seen}, "actions are a mapping with the keys push"),
        (lambda seen: (seen[:, 0].int(), {"value": seen.to("meta")}), "'value' of the policy is on meta"),
    ],
)
def test_outputs_that_do_not_fit_are_errors(policy, message):
    env = make("CartPole-v1")
    with pytest.raises(wl.InputError, match=message):
        wl.rollout(env, policy, 2)
    assert env.simulation.world.step.numpy().tolist() == [0] * N


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({}, r"the extras of the policy must be the same at every step: \['value'\], not \[\]"),
        ({"value": torch.zeros(N, 1)}, r"float32 \[6\] on cpu, not torch.float32 \[6, 1\] on cpu"),
    ],
)
def test_outputs_that_change_are_errors(second, message):
    outputs = iter([{"value": torch.zeros(N)}, second])
    with pytest.raises(wl.InputError, match=message):
        wl.rollout(make("CartPole-v1"), lambda seen: (torch.zeros(N, dtype=torch.int64), next(outputs)), 2)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"reward": torch.zeros(2, N)}, "out has no tensors named 'reward': it may have observations, actions"),
        ({"rewards": torch.zeros(3, N)}, r"out.rewards must be torch.float32 \[2, 6\] on cpu, not .* \[3, 6\]"),
        ({"rewards": [0.0]}, "out.rewards must be a tensor, .* not list"),
        ({"actions": torch.zeros(2, N)}, r"out.actions must be torch.int64 \[2, 6\] on cpu, not torch.float32"),
        (
            {"extras": {"values": torch.zeros(2, N)}},
            "out.extras must be a dict .* with some of the keys log_prob, value",
        ),
        ([], "out is a dict of tensors, or a result of a rollout, not list"),
    ],
)
def test_tensors_that_do_not_fit_are_errors(out, message):
    with pytest.raises(wl.InputError, match=message):
        wl.rollout(make("CartPole-v1"), make_actor("cpu"), 2, out=out)


def test_final_observations_that_are_not_kept_are_no_target():
    out = {"final_observations": torch.zeros(2, N, 4)}
    with pytest.raises(wl.InputError, match="out has final_observations, which this rollout does not keep"):
        wl.rollout(make("CartPole-v1"), make_actor("cpu"), 2, out=out, final_observations=False)


def test_parts_of_observations_of_the_caller_are_checked():
    with pytest.raises(
        wl.InputError, match=r"out.observations must be a dict of tensors with some of the keys rain, .* mood"
    ):
        wl.rollout(make(MEADOW), fly_at_random, 2, out={"observations": torch.zeros(2, N)})
    with pytest.raises(wl.InputError, match=r"out.observations must be a tuple of 3 tensors"):
        wl.rollout(make("Blackjack-v1"), hit_below_17, 2, out={"observations": torch.zeros(2, N)})


def test_environments_that_do_not_fit_are_errors():
    policy = make_actor("cpu")
    with pytest.raises(wl.InputError, match="cannot reset single worlds: make them with autoreset"):
        wl.rollout(make("CartPole-v1", autoreset="disabled"), policy, 2)
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(make("CartPole-v1"))
    with pytest.raises(wl.InputError, match=r"would skip the wrapper RecordEpisodeStatistics: pass env.unwrapped"):
        wl.rollout(wrapped, policy, 2)
    with pytest.raises(wl.InputError, match="an adapter or a Simulation, not object"):
        wl.rollout(object(), policy, 2)
    with pytest.raises(wl.InputError, match="a policy is a function of observations, not int"):
        wl.rollout(make("CartPole-v1"), 3, 2)
    with pytest.raises(wl.InputError, match="num_steps"):
        wl.rollout(make("CartPole-v1"), policy, 0)
    env = make("CartPole-v1")
    roll = wl.Rollout(env, policy, 2)
    env.close()
    with pytest.raises(wl.InputError, match="this simulation is closed"):
        roll()


@pytest.mark.parametrize("copies", [True, False])
def test_sums_of_rewards_are_those_of_arrays(copies):
    sums = []
    for backend in ("numpy", "torch"):
        env = WorldVectorEnv("TagGrid-v0", N, seed=3, backend=backend, copy=copies)
        env.action_space.seed(1)
        sums.append([env.step(env.action_space.sample())[1].tolist() for _ in range(8)])
    env = make("TagGrid-v0")
    env.action_space.seed(1)

    def act(_):
        return {key: torch.from_numpy(actions) for key, actions in env.action_space.sample().items()}

    assert sums[0] == sums[1] == wl.rollout(env, act, 8).rewards.tolist()


def test_the_callers_tensors_may_be_replaced_in_their_dict():
    env, first, second = make("CartPole-v1"), torch.zeros(4, N), torch.zeros(4, N)
    out = {"rewards": first}
    wl.rollout(env, push_right, 4, out=out)
    out["rewards"] = second
    assert wl.rollout(env, push_right, 4, out=out).rewards is second and second.eq(1).all()


def test_another_dict_of_the_same_tensors_is_the_same_rollout():
    env, rewards, value = make("CartPole-v1"), torch.zeros(4, N), torch.zeros(4, N)

    def policy(observations):
        return push_right(observations), {"value": observations[:, 0]}

    for _ in range(3):
        result = wl.rollout(env, policy, 4, out={"rewards": rewards, "extras": {"value": value}})
        assert result.rewards is rewards and result.extras["value"] is value
    assert len(vars(env.simulation)[CACHE]) == 1


def test_closed_worlds_are_refused():
    env = make("CartPole-v1")
    env.close()
    with pytest.raises(wl.InputError, match="is closed"):
        wl.rollout(env, push_right, 4)


def push_right(observations):
    return torch.ones(len(observations), dtype=torch.int64)


def test_tensors_of_the_caller_that_share_memory_are_refused():
    env = wl.make("CartPole-v1", 3, env_type="torch", seed=0)
    shared = torch.zeros(2, 3, 4)
    with pytest.raises(wl.InputError, match="two names for the same memory"):
        wl.Rollout(env, constant, 2, out={"observations": shared, "final_observations": shared})
    with pytest.raises(wl.InputError, match=r"out\.rewards is an expanded tensor"):
        wl.Rollout(env, constant, 2, out={"rewards": torch.zeros(3).expand(2, 3)})


def constant(observations):
    return torch.ones(len(observations), dtype=torch.int64)
