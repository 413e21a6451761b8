"""``worldloom play``: its video, and its errors."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("without_curves")

FLOCK = Path(__file__).parent / "flock.py"


@pytest.mark.parametrize(("name", "magic"), [("out.mp4", b"ftyp"), ("out.gif", b"GIF89a")])
def test_a_video_is_written(worldloom, trained, tmp_path, name, magic):
    code, out, _ = worldloom("play", trained, "--video", tmp_path / name, "--max-frames", "12")
    assert code == 0
    assert magic in (tmp_path / name).read_bytes()[:12]
    assert f"wrote {tmp_path / name}: " in out and "frames of CartPole-v1" in out


def test_whole_episodes_are_recorded_with_their_ends(worldloom, tmp_path):
    few = ("--device", "cpu", "--num-envs", "4", "--total-steps", "128", "--quiet", "--no-video")
    assert worldloom("train", f"{FLOCK}:FlockSeen-v0", *few, "--run-dir", tmp_path / "run")[0] == 0
    code, out, _ = worldloom(
        "play", tmp_path / "run", "--env", FLOCK, "--video", tmp_path / "out.gif", "--episodes", "2"
    )
    assert code == 0
    assert ": 12 frames" in out and "--max-frames" not in out  # the start and five steps, twice


def test_a_recording_stops_after_its_time(trained, tmp_path):
    from worldloom.cli.training.run_media import record_video
    from worldloom.learn.runs.saved_run import open_run

    assert record_video(open_run(trained), tmp_path / "out.gif", max_seconds=0.0) == 1
    assert (tmp_path / "out.gif").is_file()


@pytest.mark.parametrize(("max_frame_rate", "every"), [(25.0, 2), (26.0, 1), (10.0, 5)])
def test_fewer_frames_per_second_have_the_same_speed(trained, tmp_path, monkeypatch, max_frame_rate, every):
    from worldloom.cli.training import run_media
    from worldloom.learn.runs.saved_run import open_run

    written = []
    monkeypatch.setattr(run_media, "write_video", lambda frames, target, rate: written.append((len([*frames]), rate)))
    count = run_media.record_video(
        open_run(trained), tmp_path / "out.mp4", max_frames=9, episodes=9, max_frame_rate=max_frame_rate
    )
    assert written == [(count, 50.0 / every)]
    assert count == -(-9 // every)


def test_worlds_side_by_side(worldloom, tmp_path):
    from PIL import Image

    sizes = []
    for tiles in ("1", "3"):
        arguments = ("--random", "--video", tmp_path / "out.gif", "--tiles", tiles)
        assert worldloom("play", f"{FLOCK}:FlockSeen-v0", *arguments)[0] == 0
        sizes.append(Image.open(tmp_path / "out.gif").size)
    assert sizes[1] == (2 * sizes[0][0], 2 * sizes[0][1])


def test_a_world_without_a_renderer_is_refused(worldloom, tmp_path):
    few = ("--device", "cpu", "--num-envs", "4", "--total-steps", "128", "--quiet", "--no-video", "--json")
    assert json.loads(worldloom("train", f"{FLOCK}:Flock-v0", *few, "--run-dir", tmp_path / "run")[1])["video"] is None
    code, _, err = worldloom("play", tmp_path / "run", "--env", FLOCK, "--video", tmp_path / "out.mp4")
    assert code == 2
    assert "world 'Flock-v0' has no renderer: register it with render=..." in err


def test_random_actions_are_recorded_in_any_world(worldloom, tmp_path):
    code, out, _ = worldloom(
        "play", "CartPole-v1", "--random", "--video", tmp_path / "out.gif", "--max-frames", "9", "--episodes", "3"
    )
    assert code == 0
    assert ": 9 frames of CartPole-v1" in out and "; the maximum of --max-frames" in out
    code, _, err = worldloom("play", f"{FLOCK}:Flock-v0", "--random", "--video", tmp_path / "out.gif")
    assert code == 2 and "world 'Flock-v0' has no renderer" in err
    code, _, err = worldloom("play", "Nowhere-v0", "--random", "--video", tmp_path / "out.gif")
    assert code == 2 and "there is no world 'Nowhere-v0'" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--video", "out.avi"], "a video ends in .mp4 or .gif"),
        (["--video", "out.mp4", "--episodes", "0"], "--episodes must be more than 0"),
        (["--video", "out.mp4", "--max-frames", "0"], "--max-frames must be more than 0"),
        (["--video", "out.mp4", "--tiles", "0"], "--tiles must be more than 0"),
        ([], "--video"),
    ],
)
def test_what_cannot_be_done_is_refused(worldloom, trained, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    code, out, err = worldloom("play", trained, *arguments)
    assert code == 2
    assert sentence in out + err


def test_a_world_in_the_place_of_a_run_is_told_how_to_be_recorded(worldloom, tmp_path):
    code, _, err = worldloom("play", "Pong-v5", "--video", tmp_path / "out.mp4")
    assert code == 2 and "Pong-v5 is a world and no folder of a run: add --random" in " ".join(err.split())


@pytest.mark.parametrize("place", ["runs/typo", "./runs/typo", "runs/typo.bin"])
def test_a_folder_that_is_not_there_is_no_world(worldloom, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    code, _, err = worldloom("play", place, "--video", "out.mp4")
    assert code == 2 and "holds no run" in err


def test_the_file_of_a_rom_in_the_place_of_a_run_is_told_how_to_be_recorded(worldloom, tmp_path):
    (tmp_path / "any.bin").write_bytes(bytes(2048))
    code, _, err = worldloom("play", tmp_path / "any.bin", "--video", tmp_path / "out.mp4")
    assert code == 2 and "is a world and no folder of a run: add --random" in " ".join(err.split())
