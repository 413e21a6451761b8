"""Videos: the frames read back equal those written, and files are written atomically."""

import sys

import numpy as np
import pytest

from worldloom.core.base.errors import InputError
from worldloom.view.video import write_video


def frames(height, width, count):
    """A bar that grows from the left, on a grey background."""
    for i in range(count):
        picture = np.full((height, width, 3), 60, np.uint8)
        picture[:, : width * i // count] = (220, 40, 40)
        yield picture


def read(path):
    """The metadata of a video, and its frames."""
    reader = pytest.importorskip("imageio_ffmpeg").read_frames(str(path))
    about = next(reader)
    width, height = about["size"]
    return about, [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]


@pytest.mark.parametrize("size, even", [((48, 64), (48, 64)), ((33, 21), (34, 22)), ((1, 1), (2, 2))])
def test_an_mp4_shows_what_was_drawn(tmp_path, size, even):
    target = tmp_path / "new" / "video.mp4"
    pytest.importorskip("imageio_ffmpeg")
    write_video(frames(*size, 10), target, 20)
    about, shown = read(target)
    assert (about["codec"], about["pix_fmt"].split("(")[0], about["fps"]) == ("h264", "yuv420p", 20.0)
    assert (len(shown), shown[0].shape) == (10, (*even, 3))
    for seen, drawn in zip(shown, frames(*size, 10), strict=True):
        height, width = size
        assert np.abs(seen[:height, :width].astype(int) - drawn).mean() < 12, "up to the losses of the format"
    assert [p.name for p in target.parent.iterdir()] == ["video.mp4"]


def test_a_gif_shows_what_was_drawn(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    write_video(frames(32, 40, 6), tmp_path / "video.gif", 10)
    about, shown = read(tmp_path / "video.gif")
    assert (about["codec"].strip(","), about["fps"], len(shown)) == ("gif", 10.0, 6)
    assert np.abs(shown[-1].astype(int) - list(frames(32, 40, 6))[-1]).mean() < 12


def test_a_video_that_fails_leaves_the_old_one(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    target = tmp_path / "video.mp4"
    write_video(frames(16, 16, 3), target, 10)
    before = target.read_bytes()

    def failing():
        yield from frames(16, 16, 2)
        raise RuntimeError("the world broke")

    with pytest.raises(RuntimeError, match="the world broke"):
        write_video(failing(), target, 10)
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["video.mp4"]
    write_video(frames(16, 16, 5), target, 10)
    assert len(read(target)[1]) == 5


def test_a_video_that_ffmpeg_cannot_finish_leaves_the_old_one(tmp_path):
    """As on a full disk, where ffmpeg only prints what is wrong and the file has no end."""
    resource = pytest.importorskip("resource")
    pytest.importorskip("imageio_ffmpeg")
    target = tmp_path / "video.mp4"
    write_video(frames(16, 16, 3), target, 10)
    before, (soft, hard) = target.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(
            InputError, match=r"video\.mp4 cannot be written \(ffmpeg ended with code [^\n]*\)"
        ) as caught:
            write_video(frames(16, 16, 3), target, 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["video.mp4"]


def test_what_is_no_video_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("imageio_ffmpeg")
    picture = np.zeros((4, 4, 3), np.uint8)
    target = tmp_path / "video.mp4"
    for pictures, message in [
        ([], "there are no pictures for .*: at least one is needed"),
        ([picture.astype(float)], r"picture 0 of a video must be uint8 \(height, width, 3\), not float64 \(4, 4, 3\)"),
        ([picture, picture[0]], r"picture 1 of a video must be uint8 \(height, width, 3\), not uint8 \(4, 3\)"),
        ([picture, picture[:2]], r"must have one size: picture 1 is \(2, 4, 3\), the first is \(4, 4, 3\)"),
    ]:
        with pytest.raises(InputError, match=message):
            write_video(pictures, target, 10)
    with pytest.raises(InputError, match=r"a video ends in .mp4 or .gif, not in '.avi': rename"):
        write_video([picture], tmp_path / "video.avi", 10)
    with pytest.raises(InputError, match="a video needs more than 0 frames per second, not 0"):
        write_video([picture], target, 0)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write the video .*video.mp4: "):
        write_video([picture], tmp_path / "file" / "video.mp4", 10)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match=r"^a video needs imageio-ffmpeg: pip install 'worldloom\[view\]' adds it$"):
        write_video([picture], target, 10)
