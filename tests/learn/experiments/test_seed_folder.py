"""The folder of a training with several seeds."""

import json
from dataclasses import replace

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.experiments.seed_folder import SeedResult, open_seed_folder, read_seed_folder
from worldloom.learn.runs.training_run import TrainingRequest


def opened(request, seeds):
    """The folder of seeds, no longer locked."""
    with open_seed_folder(request, seeds) as folder:
        return folder


@pytest.fixture
def request_(tmp_path):
    config = PPOConfig(num_envs=8, total_steps=512, device="cpu")
    return TrainingRequest("CartPole-v1", "ppo", config, run_dir=tmp_path / "runs", stop_at=100.0)


def test_finished_seeds_are_not_pending(request_):
    folder = opened(request_, (3, 4, 5, 6))
    folder.record(SeedResult(3, steps=512, finished=True))
    folder.record(SeedResult(4, steps=256, mean_return=20.0))  # interrupted
    folder.record(SeedResult(5, steps=256, finished=True, reached=100.0))
    folder.record(SeedResult(6, error="it diverged"))
    again = opened(replace(request_, resume="yes"), (3, 4, 5, 6))
    assert again.pending() == [4, 6] and again.results == folder.results


def test_more_steps_or_another_score_make_seeds_pending(request_):
    folder = opened(request_, (0, 1))
    folder.record(SeedResult(0, steps=512, finished=True))
    folder.record(SeedResult(1, steps=256, finished=True, reached=100.0))
    longer = replace(request_, config=replace(request_.config, total_steps=1024), resume="yes")
    assert opened(longer, (0, 1)).pending() == [0]
    assert opened(replace(request_, stop_at=200.0, resume="yes"), (0, 1)).pending() == [1]


def test_the_request_of_a_seed(request_, tmp_path):
    request = opened(request_, (0, 7)).request_of(7)
    assert request.config == replace(request_.config, seed=7) and request.resume == "auto"
    assert request.run_dir == tmp_path / "runs" / "seed_7"


def test_seeds_of_64_bits_are_stored(request_):
    folder = opened(request_, (2**64 - 1, 2**62))
    assert read_seed_folder(folder.path).seeds == (2**64 - 1, 2**62)
    assert folder.request_of(2**64 - 1).config.seed == 2**64 - 1


def test_seeds_may_be_added_but_not_left_out(request_):
    opened(request_, (0, 1))
    resumed = replace(request_, resume="yes")
    assert opened(resumed, (0, 1, 2)).pending() == [0, 1, 2]
    with pytest.raises(InputError, match=r"has seed 2: omit --seeds, or name 0:3 and more"):
        opened(resumed, (0, 1))


def test_folders_that_cannot_be_used_are_refused(request_, tmp_path):
    with pytest.raises(InputError, match="no seeds to resume"):
        opened(replace(request_, resume="yes"), (0,))
    opened(request_, (0,))
    with pytest.raises(InputError, match="already holds runs: give --resume"):
        opened(request_, (0,))
    (tmp_path / "single").mkdir()
    (tmp_path / "single" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="holds the run of a single seed"):
        opened(replace(request_, run_dir=tmp_path / "single", resume="auto"), (0,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": None}, "has no format"),
        ({"format": 2}, "has format 2"),
        ({"seeds": []}, "'seeds' in .* must be a list of different seeds"),
        ({"seeds": [0, 0]}, "must be a list of different seeds"),
        ({"seeds": [-1]}, "must be a list of different seeds"),
        ({"request": []}, "'request' in .* must be an object"),
        ({"request": {"env": "CartPole-v1"}}, r"seeds\.json has no 'algorithm'"),
        ({"results": {}}, "'results' in .* must be a list"),
        ({"results": [{"seed": 0, "steps": -1}]}, "not the result of a seed"),
        ({"results": [{"seed": 9}]}, "not the result of a seed"),
        ({"results": [{"seed": 0, "mean_return": "high"}]}, "not the result of a seed"),
        ({"results": [{"seed": 0, "surprise": 1}]}, "not the result of a seed"),
        ({"results": [5]}, "not the result of a seed"),
    ],
)
def test_damaged_files_are_refused(request_, tmp_path, change, message):
    opened(request_, (0,))
    file = tmp_path / "runs" / "seeds.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        read_seed_folder(tmp_path / "runs")


def test_a_file_that_is_no_json_or_a_link_is_refused(request_, tmp_path):
    opened(request_, (0,))
    file = tmp_path / "runs" / "seeds.json"
    moved = file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(moved)
    with pytest.raises(InputError, match="symbolic link"):
        read_seed_folder(tmp_path / "runs")
    file.unlink()
    file.write_text("{")
    with pytest.raises(InputError, match="not a complete JSON document"):
        read_seed_folder(tmp_path / "runs")
