"""Steps as one graph: every launch takes its own actions and fills its own copies."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import worldloom as wl
from worldloom.vector.transfer.mailbox import NUM_SLOTS

DEVICE = "cuda:0"
NUM_ENVS = 64


def make(world: str, **arguments: Any) -> Any:
    env = wl.make(world, NUM_ENVS, device=DEVICE, env_type="torch", seed=3, **arguments)
    env.reset()
    assert env.batch._graph_step is not None
    return env


def actions_of(world: str, steps: int) -> list[torch.Tensor]:
    generator = torch.Generator(DEVICE).manual_seed(1)
    if world == "Pendulum-v1":
        return list(torch.rand((steps, NUM_ENVS, 1), generator=generator, device=DEVICE) * 4.0 - 2.0)
    return list(torch.randint(2, (steps, NUM_ENVS), generator=generator, device=DEVICE))


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("world", ["CartPole-v1", "Pendulum-v1"])
def test_a_host_far_ahead_of_the_gpu(world: str, copy: bool) -> None:
    steps = 2 * NUM_SLOTS + 77
    env, twin = make(world, copy=copy), wl.make(world, NUM_ENVS, device=DEVICE, seed=3)
    twin.reset()
    rewards, expected = torch.zeros(NUM_ENVS, device=DEVICE), torch.zeros(NUM_ENVS)
    actions = actions_of(world, steps)
    torch.cuda.synchronize()
    torch.cuda._sleep(500_000_000)
    for drawn in actions:
        rewards += env.step(drawn.clone())[1]  # the memory of the copy is reused at once
    for drawn in actions:
        expected += torch.as_tensor(twin.step(drawn.cpu().numpy())[1])
    assert torch.equal(rewards.cpu(), expected)


def test_steps_of_all_kinds_in_turn() -> None:
    env, twin = make("CartPole-v1"), wl.make("CartPole-v1", NUM_ENVS, device=DEVICE, seed=3)
    twin.reset()
    found, expected = [], []
    for step, drawn in enumerate(actions_of("CartPole-v1", 400)):
        given: Any = [drawn, drawn.int(), drawn.to(torch.uint8), drawn.cpu().numpy(), drawn.cpu().tolist()][step % 5]
        found.append(env.step(given))
        expected.append(twin.step(drawn.cpu().numpy()))
        if step % 50 == 7:
            env.simulation.step()
            twin.simulation.step()
        if step % 90 == 11:
            mask = torch.arange(NUM_ENVS, device=DEVICE) % 2 == 0
            env.reset(options={"reset_mask": mask})
            twin.reset(options={"reset_mask": mask.cpu().numpy()})
    for one, two in zip(found, expected, strict=True):
        assert all(torch.equal(a.cpu(), torch.as_tensor(b)) for a, b in zip(one[:4], two[:4], strict=True))
        if two[4]:
            rows = torch.as_tensor(two[4]["_final_obs"])
            assert torch.equal(one[4]["final_obs"].cpu()[rows], torch.as_tensor(two[4]["final_obs"])[rows])


def test_a_graph_follows_a_change_of_the_kernels() -> None:
    env, twin = make("CartPole-v1"), make("CartPole-v1")
    drawn = actions_of("CartPole-v1", 20)
    for step in range(20):
        if step == 10:
            env.simulation.executor.invalidate()
        one, two = env.step(drawn[step]), twin.step(drawn[step])
        assert all(torch.equal(a, b) for a, b in zip(one[:4], two[:4], strict=True))


def test_a_closed_environment_is_refused() -> None:
    env = make("CartPole-v1")
    env.close()
    with pytest.raises(Exception, match="closed"):
        env.step(actions_of("CartPole-v1", 1)[0])
