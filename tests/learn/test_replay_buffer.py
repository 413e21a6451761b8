"""The replay against lists that keep every transition whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from thorough import covering

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
from worldloom.learn.rollout.replay_buffer import ReplayBuffer

CPU = torch.device("cpu")
GAMMA = 0.9


@dataclass
class Step:
    """One step of one row, with everything the world showed."""

    image: np.ndarray
    place: np.ndarray
    action: np.ndarray
    reward: float
    terminated: bool
    truncated: bool
    valid: bool


@dataclass
class Row:
    """A world with one agent whose episodes end at random; it resets with the step after an episode's last."""

    number: int
    stack: int
    random: np.random.Generator
    frames: list[np.ndarray] = field(default_factory=list)
    over: bool = True
    shown: int = 0

    def see(self) -> np.ndarray:
        """A frame that no other step of any row shows."""
        self.shown += 1
        return np.array([[self.number, self.shown], [self.shown, self.number]], dtype=np.int32)

    def image(self) -> np.ndarray:
        padded = [self.frames[0]] * (self.stack - 1) + self.frames
        return np.stack(padded[-self.stack :])

    def step(self) -> Step:
        if not self.frames:  # the first reset comes before the first step
            self.frames, self.over = [self.see()], False
        image, place = self.image(), self.frames[-1][0].astype(np.float32)
        action = self.random.integers(0, 9, size=2).astype(np.int32)
        if self.over:
            self.frames, self.over = [self.see()], False
            return Step(image, place, action, 0.0, False, False, False)
        self.frames.append(self.see())
        terminated, truncated = bool(self.random.random() < 0.12), bool(self.random.random() < 0.12)
        self.over = terminated or truncated
        return Step(image, place, action, float(np.float32(self.random.normal())), terminated, truncated, True)


class Recorder:
    """A replay and the plain lists of what went into it."""

    def __init__(
        self, rows: int, capacity: int, stack: int, n: int, priorities: ReplayPriorities | None = None
    ) -> None:
        self.stack, self.n, self.capacity = stack, n, capacity
        specs = {
            "image": ObservationSpec((stack, 2, 2) if stack > 1 else (2, 2), torch.int32),
            "place": ObservationSpec((2,)),
        }
        self.replay = ReplayBuffer(
            specs,
            2,
            torch.int32,
            rows,
            capacity,
            CPU,
            stack={"image": stack},
            n_step=n,
            gamma=GAMMA,
            seed=5,
            priorities=priorities,
        )
        self.rows = [Row(i, stack, np.random.default_rng((stack, n, i))) for i in range(rows)]
        self.history: list[list[Step]] = [[] for _ in range(rows)]

    def add(self) -> None:
        steps = [row.step() for row in self.rows]
        for kept, step in zip(self.history, steps, strict=True):
            kept.append(step)

        def column(name: str) -> torch.Tensor:
            return torch.tensor(np.array([getattr(s, name) for s in steps]))

        image = column("image") if self.stack > 1 else column("image")[:, 0]
        flags = (column("terminated"), column("truncated"), column("valid"))
        self.replay.add({"image": image, "place": column("place")}, column("action"), column("reward").float(), *flags)

    @property
    def eligible(self) -> range:
        """Steps that may be drawn: with their stack's frames behind them and n steps after them."""
        count = len(self.history[0])
        return range(max(0, count - self.capacity + self.stack - 1), count - self.n)

    def step_of(self, index: int) -> tuple[int, int]:
        """The step, counted from the beginning, and the row that lie at a place of the replay."""
        slot, row = divmod(index, len(self.rows))
        count = len(self.history[0])
        return max(t for t in range(count) if t % self.capacity == slot), row

    def check(self, batch: int) -> set[int]:
        """Draw a batch and compare each transition with the lists; the steps that were drawn."""
        drawn = self.replay.sample(batch)
        seen = set()
        for b in range(batch):
            t, row = self.step_of(int(drawn.indices[b]))
            seen.add(t)
            steps = self.history[row]
            assert t in self.eligible
            assert (drawn.weights[b].item() > 0.0) == steps[t].valid
            if not steps[t].valid:
                continue
            total, discount, k = 0.0, 1.0, 0
            while k < self.n:
                total += discount * steps[t + k].reward
                discount *= GAMMA
                k += 1
                if steps[t + k - 1].terminated or steps[t + k - 1].truncated:
                    break
            if steps[t + k - 1].terminated:
                discount = 0.0
            assert drawn.rewards[b].item() == pytest.approx(total, rel=1e-5, abs=1e-6)
            assert drawn.discounts[b].item() == pytest.approx(discount, rel=1e-6)
            np.testing.assert_array_equal(drawn.actions[b].numpy(), steps[t].action)
            for found, expected in ((drawn.observations, steps[t]), (drawn.next_observations, steps[t + k])):
                np.testing.assert_array_equal(
                    found["image"][b].numpy(), expected.image if self.stack > 1 else expected.image[0]
                )
                np.testing.assert_array_equal(found["place"][b].numpy(), expected.place)
        return seen


@pytest.mark.parametrize(("n", "stack", "capacity"), covering([1, 3, 5], [4, 1], [9, 23, 200]))
def test_transitions_are_those_of_the_lists(n: int, stack: int, capacity: int) -> None:
    recorder = Recorder(rows=3, capacity=capacity, stack=stack, n=n)
    for count in range(1, 120):
        recorder.add()
        if len(recorder.eligible) and (count < 40 or count % 7 == 0):
            recorder.check(24)


@pytest.mark.parametrize("prioritised", [False, True])
def test_every_step_with_a_whole_window_is_drawn_and_no_other(prioritised: bool) -> None:
    recorder = Recorder(
        rows=3, capacity=17, stack=3, n=2, priorities=ReplayPriorities(17, 3, CPU) if prioritised else None
    )
    for count in range(1, 45):
        recorder.add()
        if count > 24 and count % 5:  # a full ring looks the same from step to step
            continue
        expected = {
            (t, row) for t in recorder.eligible for row in range(3) if recorder.history[row][t].valid or not prioritised
        }
        batch = recorder.replay.sample(1500)
        if expected:
            assert {recorder.step_of(index) for index in batch.indices.unique().tolist()} == expected
        else:
            assert (batch.weights == 0.0).all()


def test_the_first_whole_window_can_be_drawn_at_once() -> None:
    recorder = Recorder(rows=2, capacity=8, stack=1, n=3)
    for _ in range(3):
        recorder.add()
        assert (recorder.replay.sample(5).weights == 0.0).all()
    recorder.add()
    assert recorder.check(20) == {0}


def test_an_empty_replay_gives_weights_of_zero() -> None:
    for priorities in (None, ReplayPriorities(8, 2, CPU)):
        batch = Recorder(rows=2, capacity=8, stack=2, n=3, priorities=priorities).replay.sample(7)
        assert (batch.weights == 0.0).all()
        assert batch.rewards.isfinite().all() and batch.observations["image"].shape == (7, 2, 2, 2)


def test_draws_are_uniform() -> None:
    recorder = Recorder(rows=5, capacity=13, stack=1, n=1)
    for _ in range(30):
        recorder.add()
    drawn = torch.cat([recorder.replay.sample(101).indices for _ in range(100)])
    counts = np.bincount(drawn.numpy(), minlength=65)
    assert (counts > 0).sum() == 12 * 5
    expected = 100 * 101 / 60
    chi_square = ((counts[counts > 0] - expected) ** 2 / expected).sum()
    assert chi_square < 59 + 4.0 * np.sqrt(2.0 * 59)  # four standard deviations


def test_truncation_bootstraps_and_termination_does_not() -> None:
    replay = ReplayBuffer({"x": ObservationSpec((1,))}, 1, torch.int32, 2, 10, CPU, n_step=3, gamma=0.5)
    flags = torch.zeros(2, dtype=torch.bool)
    for t in range(8):
        ends = torch.tensor([t == 2, False]), torch.tensor([False, t == 2])
        replay.add(
            {"x": torch.full((2, 1), float(t))},
            torch.zeros(2, 1, dtype=torch.int32),
            torch.ones(2),
            *ends,
            flags | (t != 3),
        )
    batch = replay.sample(200)
    at = {(int(i) // 2, int(i) % 2): b for b, i in enumerate(batch.indices)}
    terminated, truncated = at[1, 0], at[1, 1]
    assert batch.rewards[terminated] == batch.rewards[truncated] == 1.5
    assert batch.discounts[terminated] == 0.0 and batch.discounts[truncated] == 0.25
    assert batch.next_observations["x"][truncated] == 3.0  # the final observation
    assert batch.weights[at[3, 0]] == 0.0 and batch.weights[at[2, 0]] == 1.0


def test_weights_of_a_prioritised_replay_are_its_priorities() -> None:
    priorities = ReplayPriorities(11, 3, CPU, alpha=1.0, beta=1.0, epsilon=1e-3)
    recorder = Recorder(rows=3, capacity=11, stack=2, n=2, priorities=priorities)
    for _ in range(40):
        recorder.add()
    first = recorder.replay.sample(50)
    priorities.update(first.indices, first.indices.float())
    second = recorder.replay.sample(50)
    values = priorities.values.flatten()[second.indices].double().numpy()
    assert (values > 0.0).all()
    np.testing.assert_allclose(second.weights.numpy(), values.min() / values, rtol=1e-5)


def test_its_tensors_are_all_it_remembers() -> None:
    first, second = (
        Recorder(rows=3, capacity=11, stack=2, n=2, priorities=ReplayPriorities(11, 3, CPU)) for _ in range(2)
    )
    for _ in range(25):
        first.add()
    first.replay.priorities.update(first.replay.sample(8).indices, torch.arange(8.0))
    for name, tensor in second.replay.tensors().items():
        tensor.copy_(first.replay.tensors()[name])
    for recorder in (first, second):
        seen = {name: torch.ones((3, *spec.shape), dtype=spec.dtype) for name, spec in recorder.replay.specs.items()}
        flags = torch.zeros(3, dtype=torch.bool)
        recorder.replay.add(seen, torch.ones(3, 2, dtype=torch.int32), torch.ones(3), flags, flags, ~flags)
    made, expected = second.replay.sample(31), first.replay.sample(31)
    assert torch.equal(made.indices, expected.indices) and torch.equal(made.weights, expected.weights)
    assert torch.equal(made.next_observations["image"], expected.next_observations["image"])
    assert torch.equal(made.rewards, expected.rewards)


def test_only_the_newest_frame_of_a_stack_is_stored() -> None:
    replay = ReplayBuffer({"image": ObservationSpec((4, 6, 5), torch.uint8)}, 1, torch.int32, 3, 20, CPU, stack=4)
    assert replay.tensors()["observations.image"].shape == (20, 3, 6, 5)
    assert replay.tensors()["observations.image"].dtype == torch.uint8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stack": 3}, r"observation 'x' of shape \(4,\) is not a stack of 3 frames"),
        ({"stack": {"y": 4}}, "there is no observation 'y' for stack: there are x"),
        ({"n_step": 0}, "n_step of 1 or more, not 2 and 0"),
        ({"n_step": 5, "stack": 4}, "needs a capacity of 9 or more, not 8"),
        (
            {"priorities": ReplayPriorities(8, 3, CPU)},
            "the priorities are for 8 steps of 3 rows, the replay buffer has 8 of 2",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ReplayBuffer({"x": ObservationSpec((4,))}, 1, torch.int32, 2, 8, CPU, **settings)


def test_a_step_of_another_type_or_shape_is_refused() -> None:
    replay = ReplayBuffer({"x": ObservationSpec((4,))}, 1, torch.int32, 2, 8, CPU)
    flags = torch.zeros(2, dtype=torch.bool)
    with pytest.raises(InputError, match=r"observation 'x' must be torch.float32 \[2, 4\]"):
        replay.add({"x": torch.zeros(2, 3)}, torch.zeros(2, 1, dtype=torch.int32), torch.zeros(2), flags, flags, flags)
    with pytest.raises(InputError, match=r"actions must be torch.int32 \[2, 1\]"):
        replay.add({"x": torch.zeros(2, 4)}, torch.zeros(2, 1), torch.zeros(2), flags, flags, flags)
