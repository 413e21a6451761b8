"""``worldloom explain``."""

import json


def test_explains_in_words(worldloom):
    code, out, _ = worldloom("explain", "CartPole-v1")
    assert code == 0
    assert out.startswith("CartPole-v1: the ")
    assert "swing(Cart)" in out


def test_explains_as_json_and_compiles_nothing(worldloom, planted):
    code, out, err = worldloom("explain", f"{planted}:Honest-v0", "--json")
    report = json.loads(out)
    assert (code, report["env"]) == (0, "Honest-v0")
    keys = {
        "phase",
        "name",
        "systems",
        "threads_per_world",
        "loads",
        "stores",
        "sometimes",
        "bytes_read",
        "bytes_written",
        "reason",
        "threads",
    }
    tiles = {"tile", "tile_threads", "sequence", "shared_columns"}
    assert keys | {"beside", "coalesced", "stages", "waits", "whose"} | tiles == set(report["kernels"][0])
    assert report["bytes_fused"] <= report["bytes_unfused"]
    assert "compiling" not in err


def test_kernels_are_those_of_the_number_of_worlds(worldloom):
    code, out, _ = worldloom("explain", "HideSeek-v0", "--num-worlds", "16384", "--json")
    assert code == 0
    sentences = " ".join(json.loads(out)["alternatives"])
    assert "the default for 16,384 worlds" in sentences
    assert worldloom("explain", "CartPole-v1", "--num-worlds", "0")[0] == 2


def test_a_world_that_is_not_there(worldloom):
    code, _, err = worldloom("explain", "No-v0")
    assert (code, err.count("\n")) == (2, 1)
