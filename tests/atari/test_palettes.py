"""The palettes are consistent; parity tests compare them with ALE's."""

import numpy as np
import pytest

from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format


@pytest.mark.parametrize("television", Format)
def test_tables_have_a_colour_for_every_byte_and_cannot_be_changed(television):
    assert colours(television).shape == (256, 3) and colours(television).dtype == np.uint8
    assert greys(television).shape == (256,) and greys(television).dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        colours(television)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        greys(television)[0] = 1


@pytest.mark.parametrize("television", [Format.NTSC, Format.PAL])
def test_brightness_grows_within_a_hue(television):
    grey = greys(television)[::2].reshape(16, 8).astype(int)
    assert (np.diff(grey, axis=1) > 0).all()


@pytest.mark.parametrize("television", Format)
def test_odd_numbers_are_the_grey_of_the_colour_before(television):
    lost = colours(television)[1::2]
    assert (lost == lost[:, :1]).all()
    np.testing.assert_array_equal(lost[:, 0], greys(television)[::2])


def test_pal_has_104_colours_and_ntsc_128():
    assert len(np.unique(colours(Format.PAL)[::2], axis=0)) == 104
    assert len(np.unique(colours(Format.NTSC)[::2], axis=0)) == 128


def test_secam_has_eight_colours_that_brightness_chooses():
    assert len(np.unique(colours(Format.SECAM)[::2], axis=0)) == 8
    np.testing.assert_array_equal(colours(Format.SECAM)[0x00:0x10:2], colours(Format.SECAM)[0x70:0x80:2])
    assert tuple(colours(Format.SECAM)[0x3E]) == (255, 255, 255)
