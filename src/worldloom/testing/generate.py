"""Random worlds: the text of a file with kinds, helpers, many small systems and a definition, that runs by itself."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from worldloom.testing.generate_statements import Array, HelperShape, Scope, StatementGenerator, indented
from worldloom.testing.types import BOOL, FLOAT, INT, NAMED, RefType, Type, spelled
from worldloom.testing.values import MODES

_ALWAYS = (("flag", BOOL), ("mark", BOOL), ("n0", INT), ("n1", INT), ("f0", FLOAT), ("f1", FLOAT), ("rough", FLOAT))
_WIDE = ("int32", "uint32", "int64", "uint64", "float32", "float64")
"""Numbers that many may add to at once."""
_ARRAYS = (("int", (5,)), ("float", (4,)), ("bool", (3,)), ("wl.int8", (3, 2)), ("wl.vec2", (3,)), ("wl.int64", (2, 2, 2)), ("wl.float64", (3,)))
_PLAIN = list(NAMED.values())
_ROLES = {
    "act": "wl.Action(wl.Discrete(3))",
    "view": "wl.Observation(4)",
    "reward": "wl.Reward",
    "lasting": "wl.Persistent(int)",
    "finite": "wl.Finite(float)",
}
"""Components that are for something, with what is written for them."""
_CONSTANTS = "LIMIT = 7\nHALF = 0.5\nWIDE = wl.int64(5000000000)\nBYTE = wl.uint8(200)"


@dataclass
class KindShape:
    """A generated kind: its components, arrays and references, and how many there are."""

    name: str
    fields: list[tuple[str, Type]] = field(default_factory=list)
    arrays: list[tuple[str, Type, tuple[int, ...]]] = field(default_factory=list)
    refs: list[tuple[str, str]] = field(default_factory=list)
    count: str = "2"
    varies: bool = False
    event: bool = False
    position: Type | None = None
    base: str = ""
    agent: bool = False

    @property
    def root(self) -> str:
        """The kind whose systems run for it too."""
        return self.base or self.name


class SystemGenerator(StatementGenerator):
    """Writes one system: what it may touch is dealt out first, so that the rules against races hold by construction."""

    def __init__(self, dice: random.Random, world: WorldGenerator, own: KindShape | None, sort: str) -> None:
        super().__init__(dice, world.mode, world.helpers)
        self.world, self.own, self.sort = world, own, sort
        self.plan: dict[tuple[str, str], str] = {}
        self.ways: dict[tuple[str, str], str] = {}
        self.left = dice.randint(3, 8)
        self.draws = sort != "observe"
        self.queries = self.chance(0.5)
        """Whether it may look for neighbours; places then stay as they are."""

    def role(self, kind: str, name: str) -> str:
        """What the system does with a component: "own" and "read" where it may be read, "add" where it is accumulated into."""
        if name == "position" and self.queries:
            return "read"
        if name == "view":
            return "own" if self.sort == "observe" else "read"
        return self.plan.setdefault((kind, name), self.dice.choices(("own", "read", "add"), (5, 3, 2))[0])

    def way(self, kind: str, name: str, of: Type) -> str | None:
        """How many at once may change a component; None where they may not."""
        if of == BOOL:
            ways = ["|", "&"]
        elif of.shape:
            ways = ["add"] if of.scalar in _WIDE and of.family == "vec" else []
        else:
            ways = ["add", "min", "max"] if of.scalar in _WIDE else []
        if of.is_float and self.mode == "any":
            ways = [w for w in ways if w == "add"]
        return self.ways.setdefault((kind, name), self.dice.choice(ways)) if ways else None

    def enter(self, name: str, kind: KindShape, own: bool) -> None:
        """Let an entity into scope under a name; the own one may be changed, others accumulated into."""
        free, scope = own or self.sort == "world", self.scope
        for component, of in kind.fields:
            role, text = self.role(kind.root, component), f"{name}.{component}"
            if component == "rough":
                continue
            if component == "act":
                scope.read(of, text)
                continue
            if free and role == "own":
                scope.writes.append((text, of))
            if role == "add" and not free:
                way = self.way(kind.root, component, of)
                if way is not None:
                    scope.adds.append((text, of, way))
                    continue
            if role == "add" and own and self.sort != "world":
                continue
            if role == "own" and not free and self.own is not None and kind.root == self.own.root:
                continue
            if role == "add" and not free:
                continue
            scope.read(of, text)
        for component, of, shape in kind.arrays:
            role, array = self.role(kind.root, component), Array(f"{name}.{component}", of, shape)
            if free and role == "own":
                scope.array_writes.append(array)
            if role == "read" or (role == "own" and (free or self.own is None or kind.root != self.own.root)):
                scope.arrays.append(array)
        for component, other in kind.refs:
            role, text = self.role(kind.root, component), f"{name}.{component}"
            if free and role != "read":
                scope.ref_writes.append((text, other))
            if role == "read" or free:
                scope.refs.append((text, other))
        scope.read(INT, f"{name}.id")
        if kind.agent:
            scope.read(BOOL, f"{name}.active") if own or self.sort in ("world", "pair") else None
        if not (own and any(k.base == kind.name for k in self.world.kinds)):  # a reference to it is of another kind where it is a derived one
            scope.rows.append((name, kind.name))

    def enter_world(self) -> None:
        scope, free = self.scope, self.sort == "world"
        for component, of in self.world.fields:
            role, text = self.role("World", component), f"world.{component}"
            if free and role != "read":
                scope.writes.append((text, of))
            if role == "add" and not free:
                way = self.way("World", component, of)
                if way is not None:
                    scope.adds.append((text, of, way))
                continue
            scope.read(of, text)
        for component, of, shape in self.world.arrays:
            array = Array(f"world.{component}", of, shape)
            scope.arrays.append(array)
            if free:
                scope.array_writes.append(array)
        for component, of, shape in self.world.config:
            if shape:
                scope.arrays.append(Array(f"world.{component}", of, shape))
            else:
                scope.read(of, f"world.{component}")
        for text in ("world.step", "world.episode", "world.id", "LIMIT"):
            scope.read(INT, text)
        for text, of in (("WIDE", Type("int64")), ("BYTE", Type("uint8")), ("HALF", FLOAT)):
            scope.read(of, text)

    def over_rows(self, depth: int, extra: list[str] | None = None) -> list[str]:
        kind, name = self.dice.choice(self.world.kinds), self.fresh("o")
        outer, self.scope = self.scope, self.scope.copy()
        head = f"for {name} in world.all({kind.name}):"
        if kind.position is not None and self.queries and self.chance(0.7):
            point = self.composite(kind.position, 1)
            radius = self.dice.choice(("1.5", "4.0", "100.0"))
            query = f"world.near({kind.name}, {point}, {radius})" if self.chance(0.5) else f"world.nearest({kind.name}, {point}, {self.dice.randint(1, 3)})"
            if self.mode != "smooth":
                head = f"for {name} in {query}:"
        self.enter(name, kind, own=False)
        lines = [head, *indented(self.looped(depth, extra))]
        self.scope = outer
        return lines

    def simple(self) -> list[str]:
        if self.chance(0.12):
            made = self.dice.choice((self.by_reference, self.by_place, self.ending, self.coming, self.going, self.shuffled))()
            if made:
                return made
        return super().simple()

    def by_reference(self) -> list[str] | None:
        """Follow a reference, mostly after asking whether it leads somewhere."""
        if not self.scope.refs:
            return None
        text, kind = self.dice.choice(self.scope.refs)
        outer, self.scope = self.scope, self.scope.copy()
        name = self.fresh("o")
        self.enter(name, self.world.kind(kind), own=False)
        body = [f"{name} = {text}.get()", *self.simple_of(name)]
        self.scope = outer
        varies = self.world.kind(kind).varies
        return [f"if {text}.alive:" if varies or self.chance(0.9) else "if True:", *indented(body)]

    def by_place(self) -> list[str] | None:
        kind = self.dice.choice([k for k in self.world.kinds if not k.varies])
        outer, self.scope = self.scope, self.scope.copy()
        name = self.fresh("o")
        place = f"{self.whole(INT, 1)} % world.count({kind.name})" if self.chance(0.95) else self.whole(INT, 1)
        self.enter(name, kind, own=False)
        body = [f"{name} = world.at({kind.name}, {place})", *self.simple_of(name)]
        self.scope = outer
        return ["if True:", *indented(body)]

    def simple_of(self, name: str) -> list[str]:
        lines = [*(self.accumulate() or []), *(self.store() or []), *(self.change_local() or [])]
        return lines or ["pass"]

    def ending(self) -> list[str] | None:
        if self.sort == "observe" or self.chance(0.8):
            return None
        who = "e" if self.own is not None and self.own.agent and self.sort == "entity" and self.chance(0.7) else "world"
        call = f"{who}.{self.dice.choice(('terminate', 'truncate'))}()"
        if self.chance(0.2):
            call = f'world.fail("value {{value}}", {self.whole(INT, 1)})'
        return [f"if {self.truth()}:", f"    {call}"]

    def shuffled(self) -> list[str] | None:
        arrays = [a for a in self.scope.array_writes if len(a.shape) == 1 and a in self.scope.arrays]
        return [f"world.shuffle({self.dice.choice(arrays).text})"] if arrays and self.draws and self.sort != "share" else None

    def coming(self) -> list[str] | None:
        """Spawn an entity."""
        kinds = [k for k in self.world.kinds if k.varies]
        if not kinds or self.sort in ("observe", "share") or self.loops > 1:
            return None
        kind = self.dice.choice(kinds)
        given = [f"{n}={self.kept(t, self.value(t, 1, typed=False))}" for n, t in kind.fields if self.chance(0.4)]
        given += [f"{n}={self.reference(k)}" for n, k in kind.refs if self.chance(0.5)]
        call = f"world.spawn({', '.join([kind.name, *given])})"
        places = [t for t, k in self.scope.ref_writes if k == kind.name]
        if places and self.chance(0.5):
            call = f"{self.dice.choice(places)} = {call}"
        return [call] if self.chance(0.3) else [f"if {self.truth()}:", f"    {call}"]

    def going(self) -> list[str] | None:
        """Despawn an entity."""
        if self.sort == "observe":
            return None
        rows = [name for name, kind in self.scope.rows if self.world.kind(kind).varies and (self.sort != "share" or name != "e")]
        return [f"if {self.truth()}:", f"    {self.dice.choice(rows)}.despawn()"] if rows else None


class WorldGenerator:
    """Writes whole worlds.

    Args:
        seed: The same seed gives the same text.
        systems: How many systems it has.
    """

    def __init__(self, seed: int, systems: int) -> None:
        self.dice = random.Random(seed)
        self.seed, self.count = seed, systems
        self.mode = MODES[seed % 4] if seed % 4 < 3 else "any"
        self.helpers: list[HelperShape] = []
        self.kinds: list[KindShape] = []
        self.fields: list[tuple[str, Type]] = []
        self.arrays: list[tuple[str, Type, tuple[int, ...]]] = []
        self.config: list[tuple[str, Type, tuple[int, ...]]] = []

    def kind(self, name: str) -> KindShape:
        return next(k for k in self.kinds if k.name == name)

    def text(self) -> str:
        """The whole file."""
        parts = [f'"""World {self.seed} of the fuzzer: {self.count} systems."""', "import numpy as np\n\nimport worldloom as wl", self._run(), _CONSTANTS]
        self._deal_kinds()
        parts += [self._class(kind) for kind in self.kinds]
        parts.append(self._world())
        if self.mode == "dyadic":
            parts.append("@wl.function\ndef keep(x: float) -> float:\n    return 0.5 * wl.rint(wl.clamp(x, -32.0, 32.0))")
        parts += [self._helper(n) for n in range(self.dice.randint(4, 8))]
        phases: dict[str, list[str]] = {"reset": [], "step": [], "observe": []}
        for number in range(self.count):
            phase, text = self._system(f"s{number}")
            phases[phase].append(f"s{number}")
            parts.append(text)
        entities = ", ".join(f"{k.name}: {k.count}" for k in self.kinds)
        lists = ", ".join(f"{phase}=({''.join(f'{n}, ' for n in names)})" for phase, names in phases.items())
        limit = self.dice.choice(("", "", ", max_steps=2"))
        parts.append(f'DEFINITION = wl.Definition(id="fuzzed-{self.seed}", world=Field, entities={{{entities}}}, {lists}{limit})')
        return "\n\n\n".join(parts) + "\n"

    def _run(self) -> str:
        autoreset = self.dice.choices(("disabled", "same_step", "next_step"), (6, 2, 2))[0]
        resets = (2,) if self.chance(0.3) else ()
        return f'RUN = {{"num_worlds": 4, "steps": 4, "seed": {self.seed}, "autoreset": "{autoreset}", "fill": {self.seed}, "mode": "{self.mode}", "resets": {resets}}}'

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    # -- declarations ------------------------------------------------------------------------------------------------

    def _deal_kinds(self) -> None:
        number = max(2, min(8, self.count // 8))
        names = [chr(ord("A") + k) for k in range(number)]
        for name in names:
            kind = KindShape(name, list(_ALWAYS), count=str(self.dice.randint(1, 4)))
            for k in range(self.dice.randint(4, 8)):
                kind.fields.append((f"c{k}", self.dice.choice(_PLAIN)))
            for k in range(self.dice.randint(0, 2)):
                text, shape = self.dice.choice(_ARRAYS)
                kind.arrays.append((f"a{k}", NAMED[text], shape))
            for k in range(self.dice.randint(0, 2)):
                kind.refs.append((f"r{k}", self.dice.choice(names)))
            if self.chance(0.4):
                kind.position = NAMED[self.dice.choice(("wl.vec2", "wl.vec3"))]
                kind.fields.append(("position", kind.position))
            self.kinds.append(kind)
        for place, kind in enumerate(self.kinds):
            if place % 3 == 2:
                kind.varies, kind.event = True, place == 5
                room, overflow = self.dice.randint(3, 6), self.dice.choice(("error", "reset", "drop", "drop"))
                batch = ", batch=2000" if self.chance(0.3) else ""  # enough for all that may be spawned at once
                kind.count = f'wl.UpTo({room}, overflow="{overflow}"{batch})'
            elif place == 1:
                kind.agent = True
                kind.fields += [("act", INT), ("view", Type("float32", (4,), "vec")), ("reward", FLOAT), ("lasting", INT), ("finite", FLOAT)]
            elif place == 3:
                kind.base = self.kinds[0].name
                taken = {name for name, *_ in (*self.kinds[0].fields, *self.kinds[0].arrays, *self.kinds[0].refs)}
                kind.fields = [*self.kinds[0].fields, *((f"d{n}", t) for n, t in kind.fields if n not in taken or n.startswith("c"))]
                kind.arrays, kind.refs, kind.position = self.kinds[0].arrays, self.kinds[0].refs, self.kinds[0].position
            elif place == 4:
                kind.count = str(self.dice.randint(9, 13))

    def _class(self, kind: KindShape) -> str:
        base = next((k for k in self.kinds if k.name == kind.base), None)
        inherited = {n for n, *_ in (*base.fields, *base.arrays, *base.refs)} if base is not None else set()
        lines = [f"{n}: {_ROLES.get(n, spelled(t))}{'' if n in _ROLES else self._default(t)}" for n, t in kind.fields if n not in inherited]
        lines += [f"{n}: wl.Array({spelled(t)}, {', '.join(map(str, shape))})" for n, t, shape in kind.arrays if n not in inherited]
        lines += [f"{n}: {spelled(RefType(k))}" for n, k in kind.refs if n not in inherited]
        return f"class {kind.name}({kind.base or ('wl.Event' if kind.event else 'wl.Entity')}):\n" + "\n".join(indented(lines))

    def _default(self, kind: Type) -> str:
        if kind.shape or self.chance(0.6):
            return ""
        if kind == BOOL:
            return " = True"
        return f" = {self.dice.choice((0.5, 1.5, 2.0))}" if kind.is_float else f" = {self.dice.randint(1, 9)}"

    def _world(self) -> str:
        for k in range(8):
            self.fields.append((f"w{k}", self.dice.choice(_PLAIN) if k > 3 else (INT, FLOAT, BOOL, Type("int64"))[k]))
        self.arrays = [("wa0", INT, (4,)), ("wa1", FLOAT, (3, 2))]
        self.config = [("cf", FLOAT, ()), ("ci", INT, ()), ("cb", BOOL, ()), ("ca", FLOAT, (4,)), ("cm", INT, (2, 3))]
        lines = [f"{n}: {spelled(t)}" for n, t in self.fields]
        lines += [f"{n}: wl.Array({spelled(t)}, {', '.join(map(str, shape))})" for n, t, shape in self.arrays]
        lines += ["cf: wl.Config = 1.5", "ci: wl.Config = 3", "cb: wl.Config = True"]
        lines += ["ca: wl.Config = np.ones((4,), np.float32)", "cm: wl.Config = np.ones((2, 3), np.int32)"]
        return "class Field(wl.World):\n" + "\n".join(indented(lines))

    # -- functions ---------------------------------------------------------------------------------------------------

    def _helper(self, number: int) -> str:
        """A helper of numbers and vectors that may change its parameters."""
        maker = StatementGenerator(self.dice, self.mode, list(self.helpers))
        maker.in_helper, maker.left = True, self.dice.randint(2, 7)
        plain = [BOOL, INT, FLOAT, *(t for t in _PLAIN if t.scalar != "float16")]
        takes = [BOOL, *(self.dice.choice(plain) for _ in range(self.dice.randint(1, 3)))]
        if self.chance(0.4):
            takes.append(FLOAT)
        gives = [self.dice.choice([FLOAT, INT, BOOL, *takes]) for _ in range(self.dice.choice((1, 1, 1, 2, 3)))]
        names = [f"p{k}" for k in range(len(takes))]
        for name, kind in zip(names, takes, strict=True):
            maker.scope.read(kind, name)
            maker.scope.locals.append((name, kind))
        result = ", ".join(maker.kept(t, maker.value(t, 1)) for t in gives)
        maker.leaving = f"return {result}"
        lines: list[str] = []
        for _ in range(self.dice.randint(1, 4)):
            lines += maker.statement(2)
        lines.append(f"return {', '.join(maker.kept(t, maker.value(t, 2)) for t in gives)}")
        head = ", ".join(f"{n}: {t}" for n, t in zip(names, takes, strict=True))
        shape = HelperShape(f"h{number}", takes, gives)
        self.helpers.append(shape)
        arrow = f" -> {gives[0]}" if len(gives) == 1 and self.chance(0.5) else ""
        return f"@wl.function\ndef {shape.name}({head}){arrow}:\n" + "\n".join(indented(lines))

    def _system(self, name: str) -> tuple[str, str]:
        """The phase and the text of one system."""
        sort = self.dice.choices(("entity", "world", "pair", "share", "reset", "observe"), (60, 12, 12, 8, 6, 2))[0]
        own = None if sort == "world" or (sort == "reset" and self.chance(0.5)) else self.dice.choice(self.kinds)
        maker = SystemGenerator(self.dice, self, own, "world" if own is None else sort)
        maker.enter_world()
        phase = sort if sort in ("reset", "observe") else "step"
        if sort == "pair":
            return phase, self._pair(name, maker)
        if own is not None:
            maker.enter("e", own, own=True)
        lines: list[str] = []
        decorator = "@wl.system"
        if sort == "share":
            decorator = f"@wl.system(threads={self.dice.choice((32, 64))})"
            lines += self._shared_loop(maker)
        for _ in range(self.dice.randint(1, 4)):
            lines += maker.statement(2)
        head = "world: Field" if own is None else f"e: {own.name}, world: Field"
        return phase, f"{decorator}\ndef {name}({head}):\n" + "\n".join(indented(lines))

    def _pair(self, name: str, maker: SystemGenerator) -> str:
        assert maker.own is not None
        one, two = maker.own, self.dice.choice((maker.own, self.dice.choice(self.kinds)))
        maker.own = None
        maker.sort = "pair"
        maker.enter("a", one, own=False)
        maker.enter("b", two, own=False)
        lines: list[str] = []
        for _ in range(self.dice.randint(1, 2)):
            lines += maker.accumulate() or []
            lines += maker.statement(1)
        return f"@wl.system\ndef {name}(a: {one.name}, b: {two.name}, world: Field):\n" + "\n".join(indented(lines))

    def _shared_loop(self, maker: SystemGenerator) -> list[str]:
        """A loop whose turns threads share: each stores its own element, and accumulates whole numbers."""
        assert maker.own is not None
        own = maker.own
        arrays = [a for a in maker.scope.array_writes if a.text.startswith("e.") and len(a.shape) == 1]
        turns = min([a.shape[0] for a in arrays], default=4)
        outer, maker.scope = maker.scope, maker.scope.copy()
        written = {a.text for a in arrays}
        maker.scope.arrays = [a for a in maker.scope.arrays if a.text not in written]
        maker.frozen |= {n for n, _ in maker.scope.locals}
        gathered = [(t, k) for t, k in maker.scope.writes if t.startswith("e.") and k.scalar in ("int32", "int64", "bool") and not k.shape]
        gathered = self.dice.sample(gathered, min(2, len(gathered)))
        taken = {t for t, _ in gathered}
        for texts in maker.scope.reads.values():
            texts[:] = [t for t in texts if t not in taken]
        maker.scope.writes, maker.scope.array_writes, maker.scope.ref_writes, maker.leaving = [], [], [], ""
        maker.scope.adds += [(t, k, self.dice.choice(("|", "&") if k == BOOL else ("add", "min", "max"))) for t, k in gathered]
        turn = maker.fresh("t")
        maker.scope.read(INT, turn)
        maker.scope.bounded.append((turn, turns))
        maker.frozen.add(turn)
        maker.loops += 1
        kept_draws, maker.draws = maker.draws, False
        lines = maker.new_local()
        for array in arrays:
            lines.append(f"{array.text}[{turn}] = {maker.kept(array.type, maker.value(array.type, 2, typed=False))}")
        for _ in range(2):
            lines += maker.accumulate() or []
        if maker.chance(0.3):
            lines += [f"if {maker.truth()}:", "    continue", *(maker.accumulate() or [])]
        maker.loops -= 1
        maker.draws, maker.scope, maker.leaving = kept_draws, outer, "return"
        assert own is not None
        return [f"for {turn} in wl.share({turns}):", *indented(lines)]


def generate(seed: int, systems: int = 60) -> str:
    """The text of a random world with so many systems; the same for the same arguments."""
    return WorldGenerator(seed, systems).text()


__all__ = ["HelperShape", "KindShape", "Scope", "SystemGenerator", "WorldGenerator", "generate"]
