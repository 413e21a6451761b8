"""Running statistics against NumPy in float64."""

import numpy as np
import pytest
import torch

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.normalization import CLIP, EPSILON, ObservationNormalizer, RewardScaler, RunningMoments

NORMALIZE = PolicyConfig(normalize_observations=True)
SHAPES = pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 4)])


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


def batches(shape: tuple[int, ...], number: int = 30) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Batches [T, N, *shape] far from zero, whose mean wanders, and weights [T, N] of 0 and 1."""
    rng = np.random.default_rng(0)
    values = [
        (100 + i + (1 + i % 3) * rng.standard_normal((5, rng.integers(1, 9), *shape))).astype(np.float32)
        for i in range(number)
    ]
    return values, [(rng.random(v.shape[:2]) < 0.7).astype(np.float32) for v in values]


def assert_moments(moments: RunningMoments, seen: np.ndarray) -> None:
    """``moments`` are those of ``seen`` [M, *shape]."""
    seen = seen.astype(np.float64)
    assert moments.count.item() == len(seen)
    np.testing.assert_allclose(moments.mean, seen.mean(0), rtol=1e-6)
    np.testing.assert_allclose(moments.variance, seen.var(0), rtol=1e-5)
    np.testing.assert_allclose(moments.scale, 1 / np.sqrt(seen.var(0) + EPSILON), rtol=1e-5)


@SHAPES
def test_moments_of_many_batches(shape):
    moments = RunningMoments(shape)
    values, _ = batches(shape)
    for batch in values:
        moments.update(torch.from_numpy(batch))
    assert_moments(moments, np.concatenate([batch.reshape(-1, *shape) for batch in values]))


@SHAPES
def test_moments_of_many_batches_with_weights(shape):
    moments = RunningMoments(shape)
    values, weights = batches(shape)
    for batch, weight in zip(values, weights, strict=True):
        moments.update(torch.from_numpy(batch), torch.from_numpy(weight))
    assert_moments(moments, np.concatenate([batch[weight > 0] for batch, weight in zip(values, weights, strict=True)]))


@SHAPES
def test_two_ranks_equal_one(shape):
    """Each rank has half the rows; the sums of both are added up before they are taken in."""
    ranks, one = [RunningMoments(shape), RunningMoments(shape)], RunningMoments(shape)
    for batch, weight in zip(*batches(shape), strict=True):
        values, weights = torch.from_numpy(batch), torch.from_numpy(weight)
        half = values.shape[1] // 2
        one.update(values, weights)
        parts = [
            moments.sums(v, w)
            for moments, v, w in zip(
                ranks, (values[:, :half], values[:, half:]), (weights[:, :half], weights[:, half:]), strict=True
            )
        ]
        for mine, other, moments, rows in zip(parts, parts[::-1], ranks, (slice(half), slice(half, None)), strict=True):
            moments.update(
                values[:, rows],
                weights[:, rows],
                lambda sums, mine=mine, other=other: sums + other if torch.equal(sums, mine) else None,
            )
    for moments in ranks:
        assert moments.count == one.count
        torch.testing.assert_close(moments.mean, one.mean, rtol=1e-6, atol=0.0)
        torch.testing.assert_close(moments.variance, one.variance, rtol=1e-6, atol=0.0)


def test_nothing_seen_changes_nothing():
    moments = RunningMoments((2,))
    moments.update(torch.randn(3, 2), torch.zeros(3))
    assert moments.mean.tolist() == [0, 0] and moments.variance.tolist() == [1, 1] and moments.count.item() == 0
    values = torch.randn(5, 2)
    moments.update(values)
    moments.update(torch.randn(3, 2), torch.zeros(3))
    assert_moments(moments, values.numpy())


def test_statistics_stay_where_they_are_in_memory():
    """A captured graph goes on to write where it wrote when it was captured."""
    moments = RunningMoments((2,))
    places = {name: buffer.data_ptr() for name, buffer in moments.named_buffers()}
    moments.update(torch.randn(5, 2))
    assert places == {name: buffer.data_ptr() for name, buffer in moments.named_buffers()}


def test_numbers_that_are_not_finite_count_as_the_mean():
    moments = RunningMoments(())
    moments.update(torch.tensor([1.0, 3.0]))
    moments.update(torch.tensor([float("nan"), float("inf"), -float("inf")]))
    assert_moments(moments, np.array([1.0, 3.0, 2.0, 2.0, 2.0]))


def test_normalised_numbers_are_kept_within_bounds():
    moments = RunningMoments((2,))
    values = torch.randn(1000, 2) * torch.tensor([3.0, 0.1]) + torch.tensor([50.0, -2.0])
    moments.update(values)
    normalized = moments.normalize(values.view(10, 100, 2))
    assert normalized.shape == (10, 100, 2)
    np.testing.assert_allclose(normalized.flatten(0, 1).mean(0), [0, 0], atol=1e-4)
    np.testing.assert_allclose(normalized.flatten(0, 1).std(0, correction=0), [1, 1], atol=1e-4)
    assert moments.normalize(torch.tensor([1e6, -1e6])).tolist() == [CLIP, -CLIP]


def test_a_constant_becomes_zero():
    moments = RunningMoments(())
    for _ in range(20):
        moments.update(torch.full((64,), 1000.3))
    assert moments.normalize(torch.tensor([1000.3])).item() == 0.0


def test_observations_share_one_reduction():
    specs = {
        "b": ObservationSpec((2, 3)),
        "a": ObservationSpec(()),
        "place": ObservationSpec((), torch.int32, (4,)),
        "screen": ObservationSpec((2,), torch.uint8),
    }
    normalizer = ObservationNormalizer.of(specs, NORMALIZE)
    seen = {
        "a": torch.randn(4, 5),
        "b": torch.randn(4, 5, 2, 3) + 9,
        "place": torch.ones(4, 5, dtype=torch.int32),
        "screen": torch.ones(4, 5, 2, dtype=torch.uint8),
    }
    calls = []

    def twice(sums: torch.Tensor) -> torch.Tensor:
        calls.append(sums)
        return 2 * sums

    normalizer.update(seen, torch.ones(4, 5), twice)
    assert len(calls) == 1 and calls[0].dtype == torch.float64 and calls[0].ndim == 1
    for name, moments in zip(("a", "b"), normalizer.moments, strict=True):
        values = seen[name].flatten(0, 1).numpy()
        assert_moments(moments, np.concatenate([values, values]))
    normalized = normalizer(seen)
    assert normalized["place"] is seen["place"] and normalized["screen"] is seen["screen"]
    torch.testing.assert_close(normalized["b"], normalizer.moments[1].normalize(seen["b"]))


@pytest.mark.parametrize("weighted", [False, True])
def test_every_pixel_of_an_image_of_bytes_has_its_moments(weighted):
    specs = {
        "screen": ObservationSpec((2, 4, 5), torch.uint8, channels="first"),
        "code": ObservationSpec((3,), torch.uint8),
    }
    normalizer = ObservationNormalizer.of(specs, PolicyConfig(normalize_images=True))
    rng = np.random.default_rng(1)
    brightness = rng.integers(1, 256, (2, 4, 5))
    seen, counted = [], []
    for _ in range(20):
        screens = (rng.integers(0, 256, (6, 3, 2, 4, 5)) % brightness).astype(np.uint8)
        weights = (rng.random((6, 3)) < 0.6).astype(np.float32) if weighted else np.ones((6, 3), np.float32)
        code = torch.zeros(6, 3, 3, dtype=torch.uint8)
        normalizer.update(
            {"screen": torch.from_numpy(screens), "code": code}, torch.from_numpy(weights) if weighted else None
        )
        seen.append(screens.reshape(-1, 2, 4, 5))
        counted.append(weights.reshape(-1) > 0)
    kept = np.concatenate(seen)[np.concatenate(counted)].astype(np.float64)
    (moments,) = normalizer.moments
    np.testing.assert_allclose(moments.mean, kept.mean(0), rtol=1e-6)
    np.testing.assert_allclose(moments.variance, kept.var(0), rtol=1e-5, atol=1e-4)
    found = normalizer({"screen": torch.from_numpy(screens), "code": code})
    expected = np.clip((screens - kept.mean(0)) / np.sqrt(kept.var(0) + EPSILON), -CLIP, CLIP)
    np.testing.assert_allclose(found["screen"], expected, rtol=1e-4, atol=1e-4)
    assert found["screen"].dtype == torch.float32 and found["code"] is code


def test_images_are_normalized_only_where_it_is_asked_for():
    screen = {"screen": ObservationSpec((2, 4, 5), torch.uint8)}
    assert ObservationNormalizer.of(screen, NORMALIZE) is None
    assert ObservationNormalizer.of({"sight": ObservationSpec((3,))}, PolicyConfig(normalize_images=True)) is None


def test_statistics_survive_being_saved():
    moments, other = RunningMoments((3,)), RunningMoments((3,))
    moments.update(torch.randn(10, 3) + 5)
    other.load_state_dict(moments.state_dict())
    values = torch.randn(4, 3)
    assert torch.equal(moments.normalize(values), other.normalize(values))
    for each in (moments, other):
        each.update(values)
    assert torch.equal(moments.variance, other.variance)


def test_rewards_are_scaled_by_the_spread_of_returns():
    rng = np.random.default_rng(1)
    gamma, rows = 0.9, 6
    scale = RewardScaler(rows, gamma)
    running, history = np.zeros(rows), []
    first = torch.randn(4, rows)
    assert torch.equal(scale.scale(first), first)
    for _ in range(8):
        rewards = (2.0 + 3.0 * rng.standard_normal((7, rows))).astype(np.float32)
        dones, weights = rng.random((7, rows)) < 0.2, rng.random((7, rows)) < 0.8
        for t in range(7):
            running = gamma * running + rewards[t]
            history.append(running[weights[t]])
            running = np.where(dones[t], 0.0, running)
        scale.update(torch.from_numpy(rewards), torch.from_numpy(dones), torch.from_numpy(weights).float())
        np.testing.assert_allclose(scale.returns, running, rtol=1e-5, atol=1e-5)
        expected = rewards / np.sqrt(np.concatenate(history).var() + EPSILON)
        np.testing.assert_allclose(scale.scale(torch.from_numpy(rewards)), expected, rtol=1e-4)
    assert_moments(scale.moments, np.concatenate(history))


def test_reward_scales_of_two_ranks_agree():
    rewards, dones = torch.randn(5, 4), torch.rand(5, 4) < 0.3
    one = RewardScaler(4, 0.99)
    one.update(rewards, dones)
    halves = []
    for rows in (slice(2), slice(2, 4)):
        sums = []
        RewardScaler(2, 0.99).update(
            rewards[:, rows].contiguous(),
            dones[:, rows].contiguous(),
            reduce=lambda part, sums=sums: sums.append(part) or part,
        )
        halves.append(sums[0])
    both = RewardScaler(2, 0.99)
    both.update(rewards[:, :2].contiguous(), dones[:, :2].contiguous(), reduce=lambda part: part + halves[1])
    torch.testing.assert_close(both.scale(rewards), one.scale(rewards))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mask", ["", "present"])
def test_the_entities_of_a_set_share_their_moments(mask, weighted):
    specs = {
        "others": ObservationSpec((3, 2), entities=True, mask=mask),
        "present": ObservationSpec((3,)),
        "sight": ObservationSpec((2,)),
    }
    normalizer = ObservationNormalizer.of(
        specs if mask else {k: v for k, v in specs.items() if k != "present"}, NORMALIZE
    )
    assert normalizer.names == ["others", "sight"]  # a mask is no number to normalize
    torch.manual_seed(0)
    seen = {
        "others": torch.randn(4, 5, 3, 2) * torch.tensor([2.0, 5.0]) + 3.0,
        "present": (torch.rand(4, 5, 3) < 0.5).float(),
        "sight": torch.randn(4, 5, 2),
    }
    weights = (torch.rand(4, 5) < 0.5).float() if weighted else None
    normalizer.update(seen, weights)
    kept = torch.ones(4, 5, 3) if weights is None else weights[..., None].expand(4, 5, 3)
    kept = kept * seen["present"] if mask else kept
    assert_moments(normalizer.moments[0], seen["others"][kept > 0].numpy())
    torch.testing.assert_close(
        normalizer(seen)["others"], normalizer({**seen, "others": seen["others"].flip(2)})["others"].flip(2)
    )
    assert set(normalizer({"sight": seen["sight"]})) == {"sight"}
