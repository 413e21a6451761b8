"""``--pretrained`` and ``--start-from pretrained``: the policies that come with worldloom from the command line."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("without_curves")


def test_the_id_of_a_world_takes_the_place_of_a_run(worldloom, tmp_path):
    code, out, _ = worldloom("eval", "CartPole-v1", "--pretrained", "--episodes", "4", "--json")
    assert code == 0 and json.loads(out)["mean_return"] == 500.0
    code, out, _ = worldloom("play", "CartPole-v1", "--pretrained", "--video", tmp_path / "a.gif", "--max-frames", "5")
    assert code == 0 and "5 frames of CartPole-v1" in out and (tmp_path / "a.gif").is_file()
    code, out, _ = worldloom(
        "export", "CartPole-v1", "--pretrained", "--to", "safetensors", "--out", tmp_path / "cart.safetensors"
    )
    assert code == 0 and (tmp_path / "cart.safetensors").is_file()


def test_exported_policies_of_several_worlds_do_not_overwrite_each_other(worldloom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for world in ("CartPole-v1", "Acrobot-v1"):
        assert worldloom("export", world, "--pretrained", "--to", "safetensors")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Acrobot-v1.safetensors", "CartPole-v1.safetensors"]


def test_a_training_starts_from_them(worldloom, tmp_path):
    few = ("--device", "cpu", "--num-envs", "8", "--total-steps", "8192", "--no-video", "--json")
    run = ("--learning-rate", "1e-9", "--run-dir", tmp_path / "run")
    code, out, err = worldloom("train", "CartPole-v1", *few, *run, "--start-from", "pretrained")
    assert "starts from" in err and "CartPole-v1.policies" in err.replace("\n", "")
    assert code == 0 and json.loads(out)["mean_return"] > 300.0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["start_from"] == "pretrained"


def test_a_run_becomes_a_file(worldloom, trained, tmp_path):
    code, out, _ = worldloom("export", trained, "--to", "policies", "--out", tmp_path / "mine.policies")
    assert code == 0 and f"wrote {tmp_path / 'mine.policies'}: " in out
    returns = [
        json.loads(worldloom("eval", run, "--episodes", "5", "--json")[1])["mean_return"]
        for run in (trained, tmp_path / "mine.policies")
    ]
    assert returns[0] == returns[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("eval", "CartPole-v1", "--pretrained", "--checkpoint", "best"), "omit --checkpoint"),
        (("eval", "HideSeek-v0", "--pretrained"), "there are no pretrained policies for HideSeek-v0"),
        (("eval", "CartPool-v1", "--pretrained"), "CartPole-v1"),
        (("export", "CartPole-v1", "--pretrained", "--to", "policies", "--policy", "Cart"), "omit --policy"),
        (("play", "CartPole-v1", "--video", "a.gif"), "add --pretrained"),
        (("export", "Acrobot-v1"), "add --pretrained"),
        (("eval", "tests", "--pretrained"), "omit --pretrained"),
        (("play", "CartPole-v1", "--random", "--pretrained", "--video", "a.gif"), "omit one of both"),
    ],
)
def test_mistakes_are_named(worldloom, arguments, words):
    code, _, err = worldloom(*arguments)
    assert code != 0 and words in err
