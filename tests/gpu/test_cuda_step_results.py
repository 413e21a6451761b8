"""Environments of tensors on a GPU: actions in, copies and views out, on any stream and without a synchronization."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

import worldloom as wl
from worldloom.core.model.fields import Role

DEVICE = "cuda:0"
NUM_ENVS = 100
WORLDS = ("CartPole-v1", "FrozenLake-v1", "Pendulum-v1", "Blackjack-v1", "TagContinuousDemo-v0")
LONG_WAIT = 2_000_000_000
"""Clock cycles that a stream is kept busy, about a second."""


def make(world: str = "CartPole-v1", **arguments: Any) -> Any:
    env = wl.make(world, NUM_ENVS, device=DEVICE, env_type="torch", **{"seed": 0, **arguments})
    env.reset()
    env.action_space.seed(0)
    return env


def sample(env: Any) -> Any:
    """Actions in the types of the action space: int64 and float32."""
    drawn = env.action_space.sample()
    if isinstance(drawn, dict):
        return {key: torch.as_tensor(values, device=DEVICE) for key, values in drawn.items()}
    return torch.as_tensor(drawn, device=DEVICE)


def flatten(values: Any) -> list[torch.Tensor]:
    """The tensors of nested results, in order."""
    if isinstance(values, torch.Tensor):
        return [values]
    return [tensor for part in (values.values() if isinstance(values, dict) else values) for tensor in flatten(part)]


def assert_equal(one: Any, two: Any) -> None:
    pairs = list(zip(flatten(one), flatten(two), strict=True))
    assert all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize("world", WORLDS)
def test_copies_are_the_columns_and_stay(world: str, autoreset: str) -> None:
    env, twin = make(world, autoreset=autoreset), make(world, autoreset=autoreset, copy=False)
    kept = []
    for _ in range(40):
        actions = sample(env)
        found, views = env.step(actions), twin.step(actions)
        assert_equal(found, views)
        kept.append((found, [tensor.clone() for tensor in flatten(views)]))
    torch.cuda.synchronize()
    for found, expected in kept:
        assert_equal(found, expected)


def test_views_are_the_memory_of_the_columns() -> None:
    env = make(copy=False)
    observations, rewards, terminations, truncations, _ = env.step(sample(env))
    assert observations.data_ptr() == env.simulation["Cart"].sight.torch().data_ptr()
    assert rewards.data_ptr() == env.simulation["Cart"].reward.torch().data_ptr()
    assert terminations.data_ptr() == env.simulation.terminated.torch().data_ptr()
    assert truncations.data_ptr() == env.simulation.truncated.torch().data_ptr()


@pytest.mark.parametrize(
    ("world", "dtypes"),
    [
        ("CartPole-v1", (torch.int64, torch.int32, torch.int16, torch.uint8)),
        ("Pendulum-v1", (torch.float64, torch.float32, torch.float16)),
    ],
)
def test_actions_of_every_type(world: str, dtypes: tuple[torch.dtype, ...]) -> None:
    env = make(world)
    (column,) = env.simulation.columns(Role.ACTION).values()
    for dtype in dtypes:
        contiguous, drawn = sample(env).to(dtype), sample(env).to(dtype)
        for values in (contiguous, drawn.repeat_interleave(2, 0)[::2], drawn.cpu()):
            env.step(values)
            expected = values.to(DEVICE).to(column.torch().dtype)
            assert torch.equal(column.torch().reshape(values.shape), expected)
    assert env.errors() == []


def test_integers_out_of_range_are_clamped_and_reported() -> None:
    env = make()
    actions = torch.zeros(NUM_ENVS, dtype=torch.int64, device=DEVICE)
    actions[3], actions[5] = 2**33 + 1, -(2**40)
    *_, truncations, _ = env.step(actions)
    assert truncations.nonzero().ravel().tolist() == [3, 5]
    assert [(fault.world, str(2**31 - 1) in fault.message) for fault in env.errors()] == [(3, True), (5, False)]


@pytest.mark.parametrize("copy", [True, False])
def test_steps_run_on_the_current_stream(copy: bool) -> None:
    env, twin = make(copy=copy), make()
    generator = torch.Generator(DEVICE).manual_seed(0)
    stream = torch.cuda.Stream()
    found, expected = [], []
    for step in range(30):
        drawn = torch.randint(2, (NUM_ENVS,), generator=generator, device=DEVICE)
        expected.append(twin.step(drawn)[:4])
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(1_000_000)  # the actions are computed later than the call of step
            actions = (drawn + step) - step
            found.append([tensor.clone() for tensor in flatten(env.step(actions)[:4])])
            del actions  # its memory may be reused at once by work on the same stream
            torch.full((NUM_ENVS,), 7, device=DEVICE)
        stream.synchronize()
    for one, two in zip(found, expected, strict=True):
        assert_equal(one, two)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_steps_do_not_wait_for_the_gpu(copy: bool, dtype: torch.dtype) -> None:
    env = make(copy=copy)
    actions = torch.zeros(NUM_ENVS, dtype=dtype, device=DEVICE)
    env.step(actions)  # loads the kernels
    torch.cuda.synchronize()
    busy = torch.cuda.Event()
    torch.cuda._sleep(LONG_WAIT)
    busy.record()
    for _ in range(3):
        infos = env.step(actions)[4]
        assert "final_obs" in infos
    assert not busy.query(), "the host waited for the GPU"
    torch.cuda.synchronize()


def test_one_kernel_copies_the_results() -> None:
    from torch.profiler import ProfilerActivity, profile

    env = make()
    actions = torch.zeros(NUM_ENVS, dtype=torch.int64, device=DEVICE)
    env.step(actions)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(10):
            env.step(actions)
        torch.cuda.synchronize()
    names = [event.name for event in recorded.events()]
    assert sum("copy_columns" in name for name in names) in (0, 10)  # none where the profiler sees no kernels of Warp
    assert not any("elementwise" in name for name in names), "PyTorch converted or copied something"


def test_results_after_a_reset_with_a_mask() -> None:
    env = make()
    for _ in range(5):
        env.step(sample(env))
    mask = torch.arange(NUM_ENVS, device=DEVICE) % 3 == 0
    observations, infos = env.reset(options={"reset_mask": mask})
    assert torch.equal(observations, env.simulation["Cart"].sight.torch().reshape(NUM_ENVS, 4)) and infos == {}


def test_numpy_arrays_from_a_gpu() -> None:
    env = wl.make("CartPole-v1", NUM_ENVS, device=DEVICE, seed=0)
    twin = make()
    env.reset()
    for _ in range(40):
        actions = sample(twin)
        found, expected = env.step(actions.cpu().numpy()), twin.step(actions)
        assert all((one == two.cpu().numpy()).all() for one, two in zip(found[:4], expected[:4], strict=True))
        ended = expected[4]["_final_obs"].cpu().numpy()
        assert ("final_obs" in found[4]) == bool(ended.any())
        if ended.any():
            assert (found[4]["final_obs"][ended] == expected[4]["final_obs"].cpu().numpy()[ended]).all()


def test_a_closed_environment_frees_the_executor_of_its_worlds() -> None:
    env = make()
    env.step(sample(env))
    executor = weakref.ref(env.simulation.executor)
    env.close()
    gc.collect()
    assert executor() is None
