"""The commands of ``worldloom`` with their names. ``train`` does not import them: that takes 0.2 s."""

from __future__ import annotations

from typing import Annotated

import tyro

from worldloom.atari.cli.roms_command import Roms
from worldloom.cli.commands.bench import Bench
from worldloom.cli.commands.check import Check
from worldloom.cli.commands.doctor import Doctor
from worldloom.cli.commands.economy import Economy
from worldloom.cli.commands.eval import Eval
from worldloom.cli.commands.explain import Explain
from worldloom.cli.commands.export import Export
from worldloom.cli.commands.list import List
from worldloom.cli.commands.new import New
from worldloom.cli.commands.play import Play
from worldloom.cli.commands.profile import Profile
from worldloom.cli.commands.replay import Replay
from worldloom.cli.commands.train import Train
from worldloom.cli.commands.tune import Tune
from worldloom.cli.experiments.pbt import Pbt
from worldloom.cli.experiments.sweep import Sweep
from worldloom.envs.covid.fetch_command import Fetch
from worldloom.robots.robots_command import Robots

Commands = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Sweep, tyro.conf.subcommand("sweep")]
    | Annotated[Pbt, tyro.conf.subcommand("pbt")]
    | Annotated[Eval, tyro.conf.subcommand("eval")]
    | Annotated[Play, tyro.conf.subcommand("play")]
    | Annotated[Export, tyro.conf.subcommand("export")]
    | Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Roms, tyro.conf.subcommand("roms")]
    | Annotated[Robots, tyro.conf.subcommand("robots")]
    | Annotated[Fetch, tyro.conf.subcommand("fetch")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
    | Annotated[Check, tyro.conf.subcommand("check")]
    | Annotated[Replay, tyro.conf.subcommand("replay")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
    | Annotated[Explain, tyro.conf.subcommand("explain")]
    | Annotated[Profile, tyro.conf.subcommand("profile")]
    | Annotated[Tune, tyro.conf.subcommand("tune")]
    | Annotated[Economy, tyro.conf.subcommand("economy")]
    | Annotated[New, tyro.conf.subcommand("new")]
)
