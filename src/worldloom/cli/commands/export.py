"""``worldloom export``: a trained policy as a file that other programs run without worldloom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldloom.cli.run_command import RunCommand
from worldloom.core.base.errors import InputError
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Run, Switch


@dataclass
class Export(RunCommand):
    """Write the policy of a run to a file that needs no worldloom, or all policies to one that takes the run's place.

    onnx and torchscript files hold the whole function: observation statistics, byte scaling, action mask, recurrent
    state and action bounds. A safetensors file holds the parameters and the statistics by name. A file of policies
    holds what `worldloom eval`, `play`, `export` and `train --start-from` need of the run.
    """

    run_dir: Run
    """The folder of a run of `worldloom train`, or a file of policies; with --pretrained, a world."""
    to: Literal["onnx", "torchscript", "safetensors", "policies"] = "onnx"
    """Format: onnx (needs the extra `export`), torchscript (a program: load it only where you trust it), safetensors,
    or policies."""
    out: str = ""
    """The file; by default policy.onnx, policy.pt, policy.safetensors or WORLD.policies in the folder of the run. For a
    file of policies WORLD.onnx and so on in the current folder."""
    half: Switch = False
    """Round the weights in a file of policies to float16, for half the size."""
    policy: str = ""
    """Name of the policy, where the run has several."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        from worldloom.learn.export.export_policy import describe_tensor, export_run

        source = self.source(self.run_dir)
        if self.half and self.to != "policies":
            raise InputError(f"--half is for a file of policies: omit it with --to {self.to}")
        if self.to == "policies":
            return self._write_policies(source)
        with console.keep_stdout_for_json(self.json):
            exported = export_run(
                source,
                self.to,
                self.out or None,
                policy=self.policy,
                checkpoint=self.checkpoint,
                env=self.env,
                allow_changed_world=self.allow_changed_world,
            )
        inputs, outputs = ([describe_tensor(info) for info in part] for part in (exported.inputs, exported.outputs))
        if self.json:
            facts = {"file": str(exported.path), "format": self.to, "policy": exported.policy}
            console.print_json({**facts, "inputs": inputs, "outputs": outputs})
            return 0
        lines = [f"{exported.path}: policy '{exported.policy}' as {self.to}"]
        for title, tensors in (("inputs", inputs), ("outputs", outputs)):
            texts = [f"{t['name']} {t['dtype']} ({', '.join(map(str, t['shape']))})" for t in tensors]
            lines.append(f"  {title}: {', '.join(texts)}")
        for line in lines:
            console.out().print(line, soft_wrap=True, markup=False)
        return 0

    def _write_policies(self, source: Path) -> int:
        from worldloom.learn.export.export_policy import export_policies

        if self.policy:
            raise InputError("a file of policies holds all policies of a run: omit --policy")
        allow = self.allow_changed_world
        path = export_policies(
            source,
            self.out or None,
            checkpoint=self.checkpoint,
            env=self.env,
            allow_changed_world=allow,
            half=self.half,
        )
        if self.json:
            console.print_json({"file": str(path), "format": self.to})
        else:
            console.out().print(f"wrote {path}: {path.stat().st_size:,} bytes", soft_wrap=True, markup=False)
        return 0
