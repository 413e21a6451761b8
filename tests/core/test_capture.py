"""Captures: the garbage collector is disabled meanwhile, and restored afterwards."""

from __future__ import annotations

import gc

import pytest
import warp as wp

from worldloom.core.base.capture import capture, gc_disabled


def test_the_collector_is_off_inside_and_on_afterwards() -> None:
    assert gc.isenabled()
    with capture(wp.get_device("cpu")) as captured:
        assert not gc.isenabled()
    assert gc.isenabled() and captured.graph is not None


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with gc_disabled():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_switches_it_on_again() -> None:
    with pytest.raises(ValueError), gc_disabled():
        raise ValueError
    assert gc.isenabled()
