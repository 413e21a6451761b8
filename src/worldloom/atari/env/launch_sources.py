"""Sources of the launch classes for fingerprints.

Snapshots and replays are opened only if the hash of their world is unchanged, and that hash covers the source of launch
classes. These are the sources as they were when the format was set. The classes themselves may be edited as long as
they do the same. A class that changes what it computes gets its new source here.
"""

SOURCES = {
    "Restore": """class Restore(AtariLaunch):
    read = ('record',)
    written = ('machine', 'pictures', 'lives', 'over', 'newest')

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        states = prepared.states
        self._copy(prepared, shard, states.machine, states.pictures, states.outcome.lives, states.outcome.newest)

    def _copy(self, prepared: Prepared, shard: Shard, *source: Any) -> None:
        column, told = (prepared.column, prepared.outcome)
        lanes = LANES if shard.device.is_cuda else 1
        inputs = [shard.first, shard.mask, shard.value, lanes, column['record'], *source]
        outputs = [prepared.machine, prepared.pictures, told.lives, told.over, told.newest]
        wp.launch(restore, shard.count * lanes, [*inputs, *outputs],
                  device=shard.device, stream=shard.stream, record_tape=False)
""",
    "PowerOn": """class PowerOn(Restore):

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        self._copy(prepared, shard, prepared.power_on, prepared.blank, prepared.nothing, prepared.nothing)
""",
    "Emulate": """class Emulate(AtariLaunch):
    read = ('machine', 'game', 'pressed', 'span')
    written = ('machine', 'pictures', *OUTCOME)

    def __init__(self, workshop: Workshop, kind: type[Entity], window: int, one_life: bool) -> None:
        super().__init__(workshop, kind)
        self.window, self.one_life = (window, one_life)
        self.reads = {kind: (*self.read, *(name for name in ('force',) if name in kind.fields))}
        self.writes = {kind: (*self.written, *(name for name in ('shares',) if name in kind.fields))}

    def digest(self) -> str:
        return f'{super().digest()} {self.window} {self.one_life}'

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        machine, game, pressed, span, pictures = (
            prepared.column[name] for name in ('machine', 'game', 'pressed', 'span', 'pictures'))
        inputs = (machine, game, pressed, span, None, prepared.outcome, pictures)
        force, shares = (prepared.column.get(name) for name in ('force', 'shares'))
        prepared.bench.emulate(shard, *inputs, window=self.window, one_life=self.one_life, force=force, shares=shares)
""",
    "Follow": """class Follow(AtariLaunch):
    read = ('machine', 'game', 'program')
    written = ('machine', 'pictures', *OUTCOME)

    def __init__(self, workshop: Workshop, kind: type[Entity], window: int) -> None:
        super().__init__(workshop, kind)
        self.window = window

    def digest(self) -> str:
        return f'{super().digest()} {self.window}'

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        machine, game, program, pictures = (
            prepared.column[name] for name in ('machine', 'game', 'program', 'pictures'))
        prepared.bench.emulate(shard, machine, game, prepared.pressed, prepared.frames, program,
                               prepared.outcome, pictures, window=self.window)
""",
    "Draw": """class Draw(AtariLaunch):
    read = ('machine', 'game', 'pictures', 'ran')
    written = ('pictures',)

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        prepared.bench.draw(shard, prepared.column['game'], prepared.column['pictures'])
""",
    "Show": """class Show(AtariLaunch):
    read = ('pictures', 'game', 'fresh', 'show')

    def __init__(self, workshop: Workshop, kind: type[Entity], player: type[Entity], look: Look,
                 heights: Sequence[int], palettes: Sequence[Bytes]) -> None:
        super().__init__(workshop, kind)
        self.look, self.heights, self.palettes, self.player = (look, tuple(heights), palettes, player.__name__)
        self.reads = {kind: self.read, player: (*(self.read if player is kind else ()), 'screen')}
        self.writes = {player: ('screen',)}

    def prepare(self, simulation: Simulation) -> Any:
        observer = Observer(self.look, self.heights, self.palettes, simulation.device)
        return (self.workshop.prepared(simulation), observer, simulation.tables[self.player]['screen'].array)

    def digest(self) -> str:
        return f'{super().digest()} {self.look} {self.heights}'

    def launch(self, prepared: Any, shard: Shard) -> None:
        shared, observer, screen = prepared
        pictures, game, show, fresh = (shared.column[name] for name in ('pictures', 'game', 'show', 'fresh'))
        where = {'first': shard.first, 'count': shard.count, 'mask': shard.mask,
                 'value': shard.value, 'stream': shard.stream}
        observer.launch(pictures, game, screen, show, fresh, **where)
""",
}
