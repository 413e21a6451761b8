"""Exploit and explore: who copies whom, and with what settings."""

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.population.evolution import Evolution, first_starts, next_starts
from worldloom.learn.experiments.population.member_result import MemberResult
from worldloom.learn.experiments.search.dimension import Choices, Range

SPACE = (Range("learning_rate", 1e-5, 1e-1, log=True), Choices("epochs", (2, 4, 8)))


def results(scores, generation=0, errors=()):
    return [
        MemberResult(
            generation, m, m, {"learning_rate": 1e-3 * (m + 1), "epochs": 4}, score, 100, 1.0, "bad" * (m in errors)
        )
        for m, score in enumerate(scores)
    ]


def test_the_worst_copy_the_best_and_change_their_settings():
    earlier = results([5.0, 1.0, 9.0, 8.0, 4.0, 3.0, 0.0, 7.0])
    starts = next_starts(SPACE, Evolution(0.25, resample=0.0), 0, earlier)
    assert [member for member, start in enumerate(starts) if start.source != member] == [1, 6]
    for member in (1, 6):
        source = starts[member].source
        assert source in (2, 3)
        ratio = starts[member].settings["learning_rate"] / earlier[source].settings["learning_rate"]
        assert ratio == pytest.approx(1.25) or ratio == pytest.approx(0.8)
        assert starts[member].settings["epochs"] in (2, 8)
    assert all(starts[m].settings == earlier[m].settings for m in (0, 2, 3, 4, 5, 7))


def test_settings_are_drawn_anew_with_a_probability():
    rates = [
        next_starts(SPACE, Evolution(0.25, resample=1.0), seed, results([1.0, 2.0, 3.0, 4.0]))[0].settings[
            "learning_rate"
        ]
        for seed in range(100)
    ]
    assert min(rates) < 1e-4 and max(rates) > 1e-2 and len(set(rates)) == 100


def test_equal_members_do_not_copy_each_other():
    assert [start.source for start in next_starts(SPACE, Evolution(), 0, results([3.0] * 4))] == [0, 1, 2, 3]
    assert [start.source for start in next_starts(SPACE, Evolution(), 0, results([None] * 4))] == [0, 1, 2, 3]


def test_members_without_a_score_or_with_an_error_are_replaced():
    starts = next_starts(SPACE, Evolution(0.25), 0, results([None, 2.0, 3.0, 9.0]))
    assert starts[0].source == 3
    starts = next_starts(SPACE, Evolution(0.25), 0, results([None, 2.0, None, 9.0], errors=(0, 2)))
    assert [starts[0].source, starts[2].source, starts[3].source] == [3, 3, 3]
    with pytest.raises(InputError, match="every member has failed; the first: bad"):
        next_starts(SPACE, Evolution(), 0, results([None] * 3, errors=(0, 1, 2)))


def test_it_depends_on_seed_and_generation_only():
    first, again, other = (next_starts(SPACE, Evolution(), seed, results([1.0, 2.0, 3.0])) for seed in (3, 3, 4))
    later = next_starts(SPACE, Evolution(), 3, results([1.0, 2.0, 3.0], generation=1))
    assert first == again and first != other and first != later


def test_the_first_generation_is_random_or_given():
    starts = first_starts(SPACE, 6, 0)
    assert len({start.settings["learning_rate"] for start in starts}) == 6
    assert all(start.source == member for member, start in enumerate(starts))
    given = {"learning_rate": 1e-5, "epochs": 2}
    assert [start.settings for start in first_starts(SPACE, 3, 0, given)] == [given] * 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"quantile": 0.0}, "--quantile must be above 0 and at most 0.5"),
        ({"quantile": 0.6}, "--quantile must be above 0 and at most 0.5"),
        ({"resample": 1.5}, "--resample must lie between 0 and 1"),
        ({"perturb": 1.0}, "--perturb must be above 1"),
        ({"perturb": float("inf")}, "--perturb must be above 1"),
    ],
)
def test_impossible_values_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Evolution(**values)
