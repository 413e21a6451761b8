"""Tuning: variants of kernels give the same worlds, measuring leaves them alone, and what was found is used again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure import tune as tuning
from worldloom.core.measure.kernel_timer import PreservedState
from worldloom.core.measure.tune import PROGRESS_TOTAL, tune_with
from worldloom.core.runtime import tune_cache, variants
from worldloom.core.runtime.tune_cache import TunedConfig
from worldloom.core.runtime.variants import KernelConfig, kernel_key, load_tuned, prepare


class Drop(wl.Entity):
    height: float
    speed: float


class Sky(wl.World):
    pass


@wl.system
def appear(drop: Drop, world: Sky):
    drop.height = world.random(5.0, 10.0)


@wl.system
def fall(drop: Drop, world: Sky):
    drop.speed += 0.1 * world.random()
    drop.height -= drop.speed
    if drop.height < 0.0:
        world.terminate()


@wl.system
def sink(drop: Drop):
    drop.height -= 0.1


RAIN = wl.Definition("Rain-test", Sky, {Drop: 1}, reset=(appear,), step=(sink, fall, sink), max_steps=60)


def rain() -> wl.Simulation:
    """Several small kernels, one of them at two places of a step."""
    return wl.Simulation(RAIN, 5, "cpu", seed=0, fuse=False)


LIMITED = KernelConfig(1, 40)
"""On the CPU a limit on registers makes another module of the same code, and nothing else."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tune_cache, "folder", lambda: tmp_path / "tuning")
    return tmp_path / "tuning"


def test_a_variant_gives_the_same_worlds(columns) -> None:
    plain, tuned = (rain() for _ in range(2))
    ready = prepare(tuned.executor.kernels, dict.fromkeys(tuned.executor.kernels, LIMITED), tuned.device)
    assert set(ready) == set(tuned.executor.kernels)
    for name, (kernel, block) in ready.items():
        assert kernel is not tuned.executor.kernels[name] and block == 1
        assert kernel.options["cuda_max_registers"] == 40 and kernel.module is not tuned.executor.kernels[name].module
        assert {k: v for k, v in kernel.module.options.items() if k != "block_dim"} == {
            k: v for k, v in tuned.executor.kernels[name].module.options.items() if k != "block_dim"
        }, "nothing that changes results differs"
    tuned.executor.use(ready)
    for _ in range(100):
        plain.step()
        tuned.step()
    for name, values in columns(plain).items():
        np.testing.assert_array_equal(columns(tuned)[name], values, err_msg=name)
    assert plain.world.episode.numpy().min() > 0, "resets took part"


def test_kernels_as_everybody_gets_them_are_no_variants() -> None:
    sim = rain()
    assert prepare(sim.executor.kernels, dict.fromkeys(sim.executor.kernels, KernelConfig(1)), sim.device) == {}


def test_tuning_leaves_the_worlds_alone_and_remembers(columns, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(tuning.KernelBenchmark, "count_registers", lambda self, name, block: 64)
    sim, calm = (rain() for _ in range(2))
    for _ in range(7):
        sim.step()
        calm.step()
    calls: list[tuple[int, int]] = []
    found = tune_with(sim, blocks=(1,), limits=(40,), progress=lambda *done: calls.append(done))
    for name, values in columns(calm).items():
        np.testing.assert_array_equal(columns(sim)[name], values, err_msg=name)
    assert calls == [(n + 1, PROGRESS_TOTAL) for n in range(PROGRESS_TOTAL)]
    assert {k.systems for k in found.kernels if k.phase == "step"} == {spec.labels for spec in sim.program.step}
    assert any(k.phase == "reset" for k in found.kernels)
    assert found.seconds_before > 0.0 and all(k.seconds_before > 0.0 for k in found.kernels)
    for kernel in found.kernels:
        key = kernel_key(sim.executor.kernels[kernel.name], sim.device)
        entry = tune_cache.find(key, 5)
        assert entry is not None and (entry.block, entry.registers) == (kernel.block, kernel.registers)
        assert (kernel.name in sim.executor.tuned) == (kernel.registers is not None)
    for _ in range(30):
        sim.step()
        calm.step()
    for name, values in columns(calm).items():
        np.testing.assert_array_equal(columns(sim)[name], values, err_msg=name)
    assert "A whole step" in str(found) and "step_0" in str(found)


@pytest.mark.parametrize(("faster", "kept"), [(True, 40), (False, None)], ids=["faster", "slower"])
def test_the_whole_step_has_the_last_word(monkeypatch: pytest.MonkeyPatch, faster: bool, kept: int | None) -> None:
    def claim(self, candidates):
        return {n: {s: [0.5 if s == LIMITED else 1.0] * 5 for s in settings} for n, settings in candidates.items()}

    monkeypatch.setattr(tuning.KernelBenchmark, "measure", claim)
    monkeypatch.setattr(tuning.KernelBenchmark, "count_registers", lambda self, name, block: 64)
    monkeypatch.setattr(tuning.KernelBenchmark, "whole_step", lambda self, tuned: (1.0, 0.5 if faster else 1.1))
    sim = rain()
    found = tune_with(sim, blocks=(1,), limits=(40,))
    assert {k.registers for k in found.kernels if k.phase == "step"} == {kept} and {
        k.registers for k in found.kernels if k.phase == "reset"
    } == {40}
    assert set(sim.executor.tuned) == {k.name for k in found.kernels if faster or k.phase == "reset"}
    assert found.gain == (0.5 if faster else 0.0) and bool(found.note) != faster


def test_a_kernel_at_several_places_is_measured_once_and_run_at_all() -> None:
    sim = rain()
    names = [spec.name for spec in sim.program.step]
    assert len(names) > len(set(names)), "one kernel has two places"
    with PreservedState(sim) as state:
        bench = tuning.KernelBenchmark(sim, state, lambda: None)
        found = bench.measure({name: [KernelConfig(1)] for name in bench.specs})
    assert {len(samples) for settings in found.values() for samples in settings.values()} == {tuning.ROUNDS}
    assert set(found) == {spec.name for spec in (*sim.program.step, *sim.program.reset)}
    assert [spec.name for spec in bench.launchables["step"]] == names


def test_a_folder_that_cannot_be_written_to_spoils_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(tune_cache, "folder", lambda: tmp_path / "file")
    monkeypatch.setattr(
        tuning.KernelBenchmark,
        "measure",
        lambda self, candidates: {n: {s: [1.0] for s in settings} for n, settings in candidates.items()},
    )
    sim = rain()
    with pytest.warns(UserWarning, match="hold for this simulation only"):
        assert tune_with(sim, blocks=(1,), limits=()).gain == 0.0


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_on_the_cpu_there_is_nothing_to_tune(device: str, folder: Path) -> None:
    found = wl.Simulation("CartPole-v1", 2, device, seed=0).tune()
    assert str(found).startswith(f"There is nothing to tune on {device}: ") and found.kernels == ()
    assert not folder.exists()


# -- used again, on a GPU that is made up ---------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.setattr(variants, "prepare", lambda kernels, settings, device: settings)
    return SimpleNamespace(is_cuda=True, name="Pretend GPU", alias="cuda:0")


def test_later_simulations_use_what_was_found(gpu: SimpleNamespace) -> None:
    sim = rain()
    kernels, spec = sim.executor.kernels, sim.program.step[0]
    assert isinstance(spec, KernelSpec) and load_tuned(sim.program, kernels, gpu, 1000) == {}
    tune_cache.store(kernel_key(kernels[spec.name], gpu), TunedConfig(1000, 64, 48, 1.0, 0.5), {})
    assert load_tuned(sim.program, kernels, gpu, 1000) == {spec.name: KernelConfig(64, 48)}
    assert load_tuned(sim.program, kernels, gpu, 1_000_000) == {}, "that is another size"
    assert load_tuned(sim.program, kernels, SimpleNamespace(is_cuda=True, name="Other GPU"), 1000) == {}
    assert load_tuned(sim.program, kernels, sim.device, 1000) == {}, "not on the CPU"


def test_other_code_has_another_key(gpu: SimpleNamespace) -> None:
    one, two = rain(), wl.Simulation("CartPole-v1", 2, "cpu", seed=0)
    keys = {kernel_key(kernel, gpu) for sim in (one, two) for kernel in sim.executor.kernels.values()}
    assert len(keys) == len(one.executor.kernels) + len(two.executor.kernels)


def test_the_cache_lies_beside_the_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    import warp as wp

    assert tune_cache.folder().parent == Path(wp.config.kernel_cache_dir)
