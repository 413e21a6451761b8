"""Rollouts as CUDA graphs: equal to eager steps, new random numbers at every replay, and refusals without damage."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from rollout_cases import assert_same, fly_at_random, hit_below_17, make_actor, play_legally, stepped
from torch import nn

import worldloom as wl
from worldloom.learn import ActionSpec, FusedLayers, ObservationSpec, Policy, PolicyConfig, PolicySpec, Sampler
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

sys.path.insert(0, str(Path(__file__).parents[1] / "vector"))
from meadow import MEADOW

DEVICE, N, STEPS = "cuda:0", 64, 20


def make(world="CartPole-v1", **options):
    return WorldVectorEnv(world, N, device=DEVICE, seed=3, backend="torch", **options)


def push_at_random(seen):
    """Random actions that depend on the observation, without products of matrices."""
    logits = torch.stack([seen[:, 2] + seen[:, 3], -seen[:, 2] - seen[:, 3]], 1)
    actions = (logits - torch.empty_like(logits).exponential_().log()).argmax(1)
    return actions, {"score": logits.gather(1, actions[:, None]).squeeze(1), "mean": logits.mean()}


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize(
    ("world", "policy"),
    [
        ("CartPole-v1", push_at_random),
        (MEADOW, fly_at_random),
        ("Blackjack-v1", hit_below_17),
        ("HanabiSmall-v0", play_legally),
    ],
    ids=["random", "dict", "tuple", "mask"],
)
def test_a_graph_is_the_loop_over_steps(world, policy, autoreset):
    """The first call runs step by step, the second is captured, and the others replay it."""
    torch.manual_seed(5)
    expected = stepped(make(world, autoreset=autoreset), policy, 4 * STEPS)
    torch.manual_seed(5)
    roll = wl.Rollout(make(world, autoreset=autoreset), policy, STEPS)
    for call in range(4):
        actual = roll()
        part = expected.map(lambda tensor, call=call: tensor[call * STEPS : (call + 1) * STEPS])
        part.last_observations = actual.last_observations if call < 3 else expected.last_observations
        assert_same(actual, part)


def test_captured_and_eager_rollouts_are_equal():
    results = []
    for capture in (True, False):
        torch.manual_seed(5)
        env = make()
        results.append([wl.rollout(env, push_at_random, STEPS, capture=capture) for _ in range(4)])
    for captured, eager in zip(*results, strict=True):
        assert_same(captured, eager)


@pytest.mark.parametrize("own", [False, True])
def test_every_replay_draws_new_random_numbers(own):
    generator = torch.Generator(DEVICE).manual_seed(1) if own else None

    def policy(seen):
        noise = torch.rand(N, generator=generator, device=DEVICE)
        return (noise > 0.5).int(), {"noise": noise}

    roll = wl.Rollout(make(), policy, STEPS)
    noise = torch.cat([roll().extras["noise"].clone() for _ in range(5)]).flatten()
    assert len(noise.unique()) > 0.99 * len(noise)
    if own:
        again = torch.Generator(DEVICE).manual_seed(1)
        expected = torch.stack([torch.rand(N, generator=again, device=DEVICE) for _ in range(5 * STEPS)])
        assert torch.equal(noise, expected.flatten())


def test_the_fused_network_and_the_sampler_of_the_trainers():
    action = ActionSpec("categorical", sizes=(2,))
    network = Policy(PolicySpec({"sight": ObservationSpec((4,))}, action), PolicyConfig(hidden=(64, 64))).to(DEVICE)
    sampler = Sampler(action, N, torch.device(DEVICE), seed=0)
    state = network.initial_state(N, DEVICE)
    actions = torch.zeros(N, 1, dtype=torch.int32, device=DEVICE)
    log_probs, entropy = torch.zeros(N, device=DEVICE), torch.zeros(N, device=DEVICE)

    def policy(seen):
        logits, values, _ = network({"sight": seen}, state)
        sampler.sample(logits, action=actions, log_prob=log_probs, entropy=entropy)
        sampler.advance()
        return actions, {"log_prob": log_probs, "value": values}

    roll = wl.Rollout(make(), policy, STEPS)
    drawn = [roll().actions.clone() for _ in range(4)]
    result = roll()
    with torch.no_grad():
        _, values, _ = network({"sight": result.observations.flatten(0, 1)}, state)
    torch.testing.assert_close(result.extras["value"].flatten(), values, rtol=1e-3, atol=1e-4)
    assert all(not torch.equal(one, other) for one, other in itertools.pairwise(drawn))
    assert sampler.tick.item() == 5 * STEPS


def test_fused_layers_of_a_policy():
    actor, critic = (
        nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)).to(DEVICE)
        for outputs in (2, 1)
    )
    both = FusedLayers(actor, critic)

    def policy(seen):
        logits, values = both(seen)
        return (logits - torch.empty_like(logits).exponential_().log()).argmax(1), {"logits": logits, "value": values}

    roll = wl.Rollout(make(), policy, STEPS)
    for _ in range(3):
        result = roll()
    close = {"rtol": 5e-3, "atol": 5e-3}  # products of the kernel are TF32
    torch.testing.assert_close(result.extras["logits"], actor(result.observations), **close)
    torch.testing.assert_close(result.extras["value"], critic(result.observations), **close)
    parameters = [*actor.parameters(), *critic.parameters()]
    gradients = [
        torch.autograd.grad(logits.square().mean() + values.mean(), parameters)
        for logits, values in (both(result.observations), (actor(result.observations), critic(result.observations)))
    ]
    for fused, plain in zip(*gradients, strict=True):
        torch.testing.assert_close(fused, plain, **close)
    assert both._fused.usable(result.observations.flatten(0, 1))


def test_a_compiled_policy():
    policy, env = make_actor(DEVICE), make()
    roll = wl.Rollout(env, torch.compile(policy), STEPS)
    for _ in range(3):
        result = roll()
    expected = policy(result.observations[0])[1]["value"]
    torch.testing.assert_close(result.extras["value"][0], expected, rtol=1e-3, atol=1e-4)


def test_parameters_updated_in_place_are_used_and_moved_ones_are_captured_again():
    policy, env = make_actor(DEVICE), make()
    roll = wl.Rollout(env, policy, 3)
    for _ in range(3):
        roll()
    graph = roll._graph._graph
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(2.0)
    result = roll()
    assert graph is not None and roll._graph._graph is graph
    expected = policy(result.observations[0])[1]["value"]
    torch.testing.assert_close(result.extras["value"][0], expected, rtol=1e-4, atol=1e-5)
    policy.load_state_dict({name: 3.0 * tensor for name, tensor in policy.state_dict().items()}, assign=True)
    for _ in range(3):
        result = roll()
    assert roll._graph._graph not in (None, graph)
    expected = policy(result.observations[0])[1]["value"]
    torch.testing.assert_close(result.extras["value"][0], expected, rtol=1e-4, atol=1e-5)


def test_a_changed_configuration_is_captured_again():
    env, same = make(), make()
    for simulation in (env.simulation, same.simulation):
        simulation.set_config("max_steps", 7)
    roll = wl.Rollout(env, lambda seen: (seen[:, 2] > 0).int(), 10)
    for _ in range(3):
        assert roll().truncations.any()
    env.simulation.set_config("max_steps", np.full(N, 500))
    for _ in range(3):
        assert not roll().truncations.any()


def test_a_replay_does_not_wait_for_the_device():
    roll = wl.Rollout(make(), make_actor(DEVICE), STEPS)
    for _ in range(2):
        roll()
    torch.cuda.set_sync_debug_mode("error")
    try:
        roll()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_another_stream():
    torch.manual_seed(5)
    expected = [wl.Rollout(make(), push_at_random, STEPS)().clone()]
    torch.manual_seed(5)
    env = make()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        roll = wl.Rollout(env, push_at_random, STEPS)
        results = [roll().clone() for _ in range(4)]
        assert torch.cuda.current_stream() == stream
    stream.synchronize()
    assert_same(results[0], expected[0])
    for one, other in itertools.pairwise(results):
        assert torch.equal(one.last_observations, other.observations[0])


def test_tensors_of_the_caller_are_written():
    out = {"observations": torch.zeros(STEPS, N, 4, device=DEVICE), "rewards": torch.zeros(STEPS, N, device=DEVICE)}
    env = make()
    for _ in range(3):
        before = env.batch.observations()
        result = wl.rollout(env, push_at_random, STEPS, out=out)
        assert result.observations is out["observations"] and torch.equal(out["observations"][0], before)
    assert out["rewards"].min() == 1.0
    with pytest.raises(wl.InputError, match=r"out.rewards must be torch.float32 \[20, 64\] on cuda:0, not .* on cpu"):
        wl.rollout(env, push_at_random, STEPS, out={"rewards": torch.zeros(STEPS, N)})


def test_a_rollout_within_a_graph_of_the_caller():
    env = make()
    roll = wl.Rollout(env, push_at_random, STEPS)
    roll()
    total, graph = torch.zeros((), device=DEVICE), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total += roll().rewards.sum()
    for _ in range(3):
        graph.replay()
    assert total.item() == 3 * STEPS * N


def test_steps_and_faults_after_a_replay():
    env = make()
    roll = wl.Rollout(env, lambda seen: torch.full((N,), 2**32, device=DEVICE), 1)
    for _ in range(4):
        roll()
    assert len(env.errors()) == 4 * N
    env.step(torch.zeros(N, dtype=torch.int64, device=DEVICE))
    env.close()
    with pytest.raises(wl.InputError, match="this simulation is closed"):
        roll()


def read(seen):
    return torch.zeros(N, dtype=torch.int32, device=DEVICE) if seen.sum().item() > 9.0 else (seen[:, 2] > 0).int()


def move(seen):
    return (seen.cpu()[:, 2] > 0).int().to(DEVICE)


def select(seen):
    return (seen[:, 2] > seen[seen > 0].mean()).int()


def upload(seen):
    return (seen[:, 2] > torch.tensor([0.0], device=DEVICE)).int()


def show(seen):
    print(seen[0])
    return (seen[:, 2] > 0).int()


def draw(seen):
    return torch.distributions.Categorical(logits=seen[:, :2], validate_args=True).sample()


def wait_in_a_capture(seen):
    if torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()
    return (torch.rand_like(seen[:, 2]) > 0).int()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (read, r"reading a tensor as a Python number .*test_cuda_rollout.py:\d+, `return torch.zeros"),
        (move, r"a copy from cuda:0 to cpu .*`return \(seen.cpu\(\)"),
        (select, r"indexing with a mask .*`return \(seen\[:, 2\] > seen\[seen > 0\]"),
        (upload, r"`return \(seen\[:, 2\] > torch.tensor"),
        (show, r"device synchronization .*`print\(seen\[0\]\)`"),
        (draw, r"pass validate_args=False to the distribution"),
        (wait_in_a_capture, r"an operation that CUDA refused .*`torch.cuda.synchronize\(\)`"),
    ],
)
def test_a_policy_that_cannot_be_captured_is_refused_and_pytorch_stays_usable(policy, message):
    env, stream = make(), torch.cuda.current_stream()
    with pytest.raises(wl.InputError, match=message):
        for _ in range(3):
            wl.rollout(env, policy, STEPS)
    assert torch.cuda.current_stream() == stream and torch.cuda.get_sync_debug_mode() == 0
    assert torch.rand(3, device=DEVICE).sum().item() > 0.0
    for _ in range(3):
        assert wl.rollout(env, push_at_random, STEPS).rewards.min().item() == 1.0
    if policy is not wait_in_a_capture:
        assert wl.rollout(env, policy, STEPS, capture=False).rewards.min().item() == 1.0


def test_an_error_of_the_policy_is_passed_on():
    env = make()
    with pytest.raises(ZeroDivisionError):
        wl.rollout(env, lambda seen: seen / (1 // 0), STEPS)
    with pytest.raises(wl.InputError, match="action 'push' of the policy is on cpu, but the worlds are on cuda:0"):
        wl.rollout(env, lambda seen: torch.zeros(N, dtype=torch.int32), STEPS)


def test_worlds_that_cannot_be_captured_run_eagerly_on_request():
    class Buyer(wl.Entity):
        wish: wl.Action(wl.Discrete(2))
        sight: wl.Observation(1)
        reward: wl.Reward

    class Market(wl.World):
        calls: int

    def trade(simulation):
        simulation.world.calls.torch().add_(1)

    market = wl.Definition("Market-cuda-test", Market, {Buyer: 1}, step=(trade,), max_steps=9)
    env = make(market)
    policy = lambda seen: torch.ones(N, dtype=torch.int32, device=DEVICE)  # noqa: E731
    with pytest.raises(wl.InputError, match="has Python callables in its schedule, which a CUDA graph cannot hold"):
        wl.rollout(env, policy, 4)
    assert wl.rollout(env, policy, 4, capture=False).rewards.shape == (4, N)


def test_a_recording_is_refused(tmp_path):
    env = make()
    roll = wl.Rollout(env, push_at_random, STEPS)
    with env.simulation.record(), pytest.raises(wl.InputError, match="being recorded, which a CUDA graph cannot do"):
        roll()
