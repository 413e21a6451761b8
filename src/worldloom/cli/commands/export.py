"""``worldloom export``: a trained policy as a file that other programs run without worldloom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worldloom.terminal import console
from worldloom.terminal.flags import Json, Run, Switch


@dataclass
class Export:
    """Write the policy of a run to a file that needs no worldloom.

    onnx and torchscript files hold the whole function: observation statistics, byte scaling, action mask, recurrent
    state and action bounds. A safetensors file holds the parameters and the statistics by name.
    """

    run_dir: Run
    """The folder of a run of `worldloom train`."""
    to: Literal["onnx", "torchscript", "safetensors"] = "onnx"
    """Format: onnx (needs the extra `export`), torchscript (a program: load it only where you trust it), or
    safetensors."""
    out: str = ""
    """The file; by default policy.onnx, policy.pt or policy.safetensors in the folder of the run."""
    policy: str = ""
    """Name of the policy, where the run has several."""
    env: str = ""
    """The file that registers the run's world, such as pond.py; not needed for a registered world."""
    checkpoint: str = "last"
    """Checkpoint: last, best, or the name or path of a checkpoint of the run."""
    allow_changed_world: Switch = False
    """Go on although the rules of the world have changed since the checkpoint was saved."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        from worldloom.learn.export.export_policy import describe_tensor, export_run

        with console.keep_stdout_for_json(self.json):
            exported = export_run(
                self.run_dir,
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
