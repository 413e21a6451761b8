"""Any bytes in a file give a ROM or an InputError."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from worldloom.atari.cartridges import roms
from worldloom.atari.cartridges.cartridge import KIB
from worldloom.core.base.errors import InputError

SIZES = st.sampled_from([size * KIB for size in (2, 4, 8, 10, 12, 16, 32, 64, 256)])


@st.composite
def images(draw) -> bytes:
    """Bytes of any length, often that of a cartridge: a prefix and a short pattern that repeats."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=600))
    size = draw(SIZES) + draw(st.sampled_from([0, 0, 0, -1, 1, 255]))
    start = draw(
        st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"<html>", b"\x85\x3f", b"7z\xbc\xaf\x27\x1c"])
    ) + draw(st.binary(max_size=64))
    pattern = draw(st.binary(min_size=1, max_size=64))
    return (start + pattern * (size // len(pattern) + 1))[:size]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("roms")


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(image=images())
@example(image=b"\x85\x3f" * (3 * KIB))
def test_any_file_is_a_rom_or_is_refused(folder, image):
    file = folder / "some.bin"
    file.write_bytes(image)
    try:
        rom = roms.find(file)
    except InputError as error:
        assert str(file) in str(error) and str(error).isprintable()
    else:
        assert rom.image == image and rom.name == "some" and rom.game is None
        assert rom.kind.label
    found = roms.scan(folder)
    assert [item.source for item in found] == [file] and (found[0].rom is None) == bool(found[0].problem)


@settings(max_examples=100, deadline=None)
@given(path=st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_path_is_read_or_refused(path):
    try:
        roms.find(path + ".bin")
    except InputError as error:
        assert str(error).isprintable()
    else:
        pytest.fail(f"there is a ROM at {path!r}.bin")
