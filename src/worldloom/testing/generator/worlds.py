"""Random worlds: the text of a world file with kinds, helpers, many small systems and a definition."""

from __future__ import annotations

import random
import re

from worldloom.testing.generator.accesses import possible_promises
from worldloom.testing.generator.scope import HelperSpec
from worldloom.testing.generator.sequences import SequenceGenerator
from worldloom.testing.generator.statements import StatementGenerator, indented
from worldloom.testing.generator.systems import KindSpec, SystemGenerator
from worldloom.testing.generator.values import MODES
from worldloom.testing.generator.wide import WideGenerator
from worldloom.testing.reference.types import BOOL, FLOAT, INT, NAMED, RefType, Type, spelled

_ALWAYS = (("flag", BOOL), ("mark", BOOL), ("n0", INT), ("n1", INT), ("f0", FLOAT), ("f1", FLOAT), ("rough", FLOAT))
_ARRAYS = (
    ("int", (5,)),
    ("float", (4,)),
    ("bool", (3,)),
    ("wl.int8", (3, 2)),
    ("wl.vec2", (3,)),
    ("wl.int64", (2, 2, 2)),
    ("int", (3, 2, 4)),
    ("wl.float64", (3,)),
)
_PLAIN = [of for of in NAMED.values() if max(of.shape, default=1) <= 4]
_ROLES = {
    "act": "wl.Action(wl.Discrete(3))",
    "view": "wl.Observation(4)",
    "reward": "wl.Reward",
    "lasting": "wl.Persistent(int)",
    "finite": "wl.Finite(float)",
}
"""The annotations of components with a role."""
_TOGETHER = 0.3
"""Probability that a system may share a kernel with its neighbours."""
_CONCURRENT = 0.7
"""Probability that a system runs at the same time as the next one, where it can."""
_OPTION = 0.1
"""Probability of an option that only changes how a GPU runs a system."""
_THREADS = ("32", "32", "64", "128", "256", '"auto"')
"""Threads of a system over entities with a shared loop."""
_CONSTANTS = "LIMIT = 7\nHALF = 0.5\nWIDE = wl.int64(5000000000)\nBYTE = wl.uint8(200)"


class WorldGenerator:
    """Writes whole worlds.

    Args:
        seed: The same seed gives the same text.
        systems: Number of systems, without those of sequences.
        sequences: Number of sequences of systems that run together; None for a random one.
    """

    def __init__(self, seed: int, systems: int, sequences: int | None = None) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self.together = random.Random(f"together {seed}")  # noqa: S311 - of its own, so that seeds keep their worlds
        self.seed, self.count = seed, systems
        self.mode = MODES[seed % 4] if seed % 4 < 3 else "any"
        self.helpers: list[HelperSpec] = []
        self.kinds: list[KindSpec] = []
        self.fields: list[tuple[str, Type]] = []
        self.arrays: list[tuple[str, Type, tuple[int, ...]]] = []
        self.config: list[tuple[str, Type, tuple[int, ...]]] = []
        self.sequences = SequenceGenerator(self, random.Random(f"sequences {seed}"), sequences)  # noqa: S311

    def kind(self, name: str) -> KindSpec:
        return next(k for k in self.kinds if k.name == name)

    def text(self) -> str:
        """The whole file."""
        parts = [
            f'"""World {self.seed} of the fuzzer: {self.count} systems."""',
            "import numpy as np\n\nimport worldloom as wl",
            self._run(),
            _CONSTANTS,
        ]
        self._choose_kinds()
        self.sequences.choose_kinds()
        parts += self.sequences.constants
        parts += [self._class(kind) for kind in self.kinds]
        parts.append(self._world())
        if self.mode == "dyadic":
            parts.append(
                "@wl.function\ndef keep(x: float) -> float:\n    return 0.5 * wl.rint(wl.clamp(x, -32.0, 32.0))"
            )
        parts += [self._helper(n) for n in range(self.rng.randint(4, 8))]
        phases: dict[str, list[str]] = {"reset": [], "step": [], "observe": []}
        for number in range(self.count):
            phase, text = self._system(f"s{number}")
            phases[phase].append(f"s{number}")
            parts.append(text)
        phases["step"] = self.sequences.inserted(phases["step"])
        parts += self.sequences.texts
        entities = ", ".join(f"{k.name}: {k.count}" for k in self.kinds)
        lists = ", ".join(f"{phase}=({''.join(f'{n}, ' for n in names)})" for phase, names in phases.items())
        limit = self.rng.choice(("", "", ", max_steps=2"))
        parts.append(
            f'DEFINITION = wl.Definition(id="fuzzed-{self.seed}", world=Field, entities={{{entities}}}, {lists}{limit})'
        )
        return self._with_promises("\n\n\n".join(parts) + "\n")

    def _with_promises(self, text: str) -> str:
        """The world with ``concurrent=True`` at some systems that use nothing of what the next one uses."""
        rng = random.Random(f"concurrent {self.seed}")  # noqa: S311
        for name in possible_promises(text):
            if rng.random() < _CONCURRENT:
                text = re.sub(rf"(together=True)(\)\ndef {name}\()", r"\1, concurrent=True\2", text)
        return text

    def _run(self) -> str:
        autoreset = self.rng.choices(("disabled", "same_step", "next_step"), (6, 2, 2))[0]
        resets = (2,) if self.chance(0.3) else ()
        run = {
            "num_worlds": 9 if self.seed % 8 == 1 else 4,  # more than share a warp, and fewer
            "steps": 4,
            "seed": self.seed,
            "autoreset": autoreset,
            "fill": self.seed,
            "mode": self.mode,
            "resets": resets,
        }
        return f"RUN = {run!r}"

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- declarations ------------------------------------------------------------------------------------------------

    def _choose_kinds(self) -> None:
        count = max(2, min(8, self.count // 8))
        names = [chr(ord("A") + k) for k in range(count)]
        for name in names:
            kind = KindSpec(name, list(_ALWAYS), count=str(self.rng.randint(1, 4)))
            kind.fields += [
                ("narrow", Type(self.rng.choice(("int8", "uint8", "int16", "uint16")))),
                ("tiny", Type("int8")),
            ]
            for k in range(self.rng.randint(3, 7)):
                kind.fields.append((f"c{k}", self.rng.choice(_PLAIN)))
            for k in range(self.rng.randint(0, 2)):
                text, shape = self.rng.choice(_ARRAYS)
                kind.arrays.append((f"a{k}", NAMED[text], shape))
            for k in range(self.rng.randint(0, 2)):
                kind.refs.append((f"r{k}", self.rng.choice(names)))
            if self.chance(0.4):
                kind.position = NAMED[self.rng.choice(("wl.vec2", "wl.vec3"))]
                kind.fields.append(("position", kind.position))
            self.kinds.append(kind)
        for number, kind in enumerate(self.kinds):
            if number % 3 == 2:
                kind.varies, kind.event = True, number == 5
                limit, overflow = self.rng.choice((4, 6, 16, 40)), self.rng.choice(("error", "reset", "drop", "drop"))
                batch = ", batch=2000" if self.chance(0.3) else ""  # enough for all spawns of a step
                kind.count = f'wl.UpTo({limit}, overflow="{overflow}"{batch})'
            elif number == 1:
                kind.agent, kind.count = True, self.rng.choice("12344")
                kind.fields += [
                    ("act", INT),
                    ("view", Type("float32", (4,), "vec")),
                    ("reward", FLOAT),
                    ("lasting", INT),
                    ("finite", FLOAT),
                ]
            elif number == 3:
                kind.base = self.kinds[0].name
                inherited = {name for name, *_ in (*self.kinds[0].fields, *self.kinds[0].arrays, *self.kinds[0].refs)}
                kind.fields = [
                    *self.kinds[0].fields,
                    *((f"d{n}", t) for n, t in kind.fields if n not in inherited or n.startswith("c")),
                ]
                kind.arrays, kind.refs, kind.position = self.kinds[0].arrays, self.kinds[0].refs, self.kinds[0].position
            elif number == 4:
                kind.count = str(self.rng.randint(9, 13))

    def _class(self, kind: KindSpec) -> str:
        base = next((k for k in self.kinds if k.name == kind.base), None)
        inherited = {n for n, *_ in (*base.fields, *base.arrays, *base.refs)} if base is not None else set()
        lines = [
            f"{n}: {_ROLES.get(n, spelled(t))}{'' if n in _ROLES else self._default(t)}"
            for n, t in kind.fields
            if n not in inherited
        ]
        lines += [
            f"{n}: wl.Array({spelled(t)}, {', '.join(map(str, shape))})"
            for n, t, shape in kind.arrays
            if n not in inherited
        ]
        lines += [f"{n}: {spelled(RefType(k))}" for n, k in kind.refs if n not in inherited]
        lines += [f"{n}: wl.Transient({spelled(t)})" for n, t in kind.transients]
        if kind.colour:
            lines.append(f"{kind.colour}: {'wl.Transient(int)' if kind.colour_is_transient else 'int'}")
        parent = kind.base or ("wl.Event" if kind.event else "wl.Entity")
        return f"class {kind.name}({parent}):\n" + "\n".join(indented(lines))

    def _default(self, kind: Type) -> str:
        if kind.shape or self.chance(0.6):
            return ""
        if kind == BOOL:
            return " = True"
        return f" = {self.rng.choice((0.5, 1.5, 2.0))}" if kind.is_float else f" = {self.rng.randint(1, 9)}"

    def _world(self) -> str:
        for k in range(8):
            self.fields.append((f"w{k}", self.rng.choice(_PLAIN) if k > 3 else (INT, FLOAT, BOOL, Type("int64"))[k]))
        self.arrays = [("wa0", INT, (4,)), ("wa1", FLOAT, (3, 2)), ("wa2", INT, (2, 3, 2))]
        self.config = [("cf", FLOAT, ()), ("ci", INT, ()), ("cb", BOOL, ()), ("ca", FLOAT, (4,)), ("cm", INT, (2, 3))]
        lines = [f"{n}: {spelled(t)}" for n, t in self.fields]
        lines += [f"{n}: wl.Array({spelled(t)}, {', '.join(map(str, shape))})" for n, t, shape in self.arrays]
        lines += ["work: wl.Workload"] if self.sequences.weighed else []
        lines += ["cf: wl.Config = 1.5", "ci: wl.Config = 3", "cb: wl.Config = True"]
        lines += ["ca: wl.Config = np.ones((4,), np.float32)", "cm: wl.Config = np.ones((2, 3), np.int32)"]
        return "class Field(wl.World):\n" + "\n".join(indented(lines))

    # -- functions ---------------------------------------------------------------------------------------------------

    def _helper(self, number: int) -> str:
        """A helper that may assign its parameters."""
        maker = StatementGenerator(self.rng, self.mode, list(self.helpers))
        maker.in_helper, maker.left = True, self.rng.randint(2, 7)
        plain = [BOOL, INT, FLOAT, *(t for t in _PLAIN if t.scalar != "float16")]
        takes = [BOOL, *(self.rng.choice(plain) for _ in range(self.rng.randint(1, 3)))]
        if self.chance(0.4):
            takes.append(FLOAT)
        gives = [self.rng.choice([FLOAT, INT, BOOL, *takes]) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        names = [f"p{k}" for k in range(len(takes))]
        for name, kind in zip(names, takes, strict=True):
            maker.scope.read(kind, name)
            maker.scope.locals.append((name, kind))
        result = ", ".join(maker.clamped(t, maker.value(t, 1)) for t in gives)
        maker.leaving = f"return {result}"
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 4)):
            lines += maker.statement(2)
        lines.append(f"return {', '.join(maker.clamped(t, maker.value(t, 2)) for t in gives)}")
        head = ", ".join(f"{n}: {t}" for n, t in zip(names, takes, strict=True))
        helper = HelperSpec(f"h{number}", takes, gives)
        self.helpers.append(helper)
        arrow = f" -> {gives[0]}" if len(gives) == 1 and self.chance(0.5) else ""
        return f"@wl.function\ndef {helper.name}({head}){arrow}:\n" + "\n".join(indented(lines))

    def _system(self, name: str) -> tuple[str, str]:
        """The phase and the text of one system."""
        sorts = {"entity": 60, "world": 12, "wide": 12, "pair": 12, "share": 8, "reset": 6, "observe": 2}
        sort = self.rng.choices(list(sorts), list(sorts.values()))[0]
        if sort == "wide":
            return "step", WideGenerator(self.rng, self, name).text()
        own = None if sort == "world" or (sort == "reset" and self.chance(0.5)) else self.rng.choice(self.kinds)
        maker = SystemGenerator(self.rng, self, own, "world" if own is None else sort, name)
        maker.enter_world()
        phase = sort if sort in ("reset", "observe") else "step"
        options: list[str] = []
        partner = None
        if sort in ("entity", "reset") and own is not None:
            partner = maker.choose_partner()
            options = [*maker.choose_condition(), *(["disjoint=True"] if partner is not None else [])]
        if sort in ("entity", "world", "reset") and self.together.random() < _TOGETHER:
            options.append("together=True")
        elif sort == "world" and self.together.random() < _OPTION:
            options.append("separate=True")
        if self.together.random() < _OPTION:
            options.append(f"registers={self.together.choice((32, 64, 128, 255))}")
        if sort == "pair":
            return phase, self._pair(name, maker)
        if own is not None:
            maker.enter("e", own, own=True)
            maker.names_of_rows["e"] = (own, True)
        lines: list[str] = []
        if partner is not None:
            lines.append(f"partner = world.at({partner.name}, e.id)")
            maker.enter_partner("partner", partner)
        decorator = f"@wl.system({', '.join(options)})" if options else "@wl.system"
        if sort == "share":
            options.insert(0, f"threads={self.rng.choice(_THREADS)}")
            decorator = f"@wl.system({', '.join(options)})"
            lines += self._around(maker, self._shared_loop(maker))
        for _ in range(self.rng.randint(1, 4)):
            lines += maker.statement(2)
        head = "world: Field" if own is None else f"e: {own.name}, world: Field"
        return phase, _with_functions(maker, f"{decorator}\ndef {name}({head}):", lines)

    def _around(self, maker: SystemGenerator, loop: list[str]) -> list[str]:
        """A shared loop as it is, in a branch, or in a plain loop that entities leave at different places."""
        chosen = self.rng.random()
        if chosen < 0.5:
            return loop
        lines = [f"if {maker.truth()}:", *indented(loop)]
        if chosen < 0.7:
            return lines
        lines += [f"    {self.rng.choice(('break', 'continue'))}"] if self.chance(0.6) else []
        turns = maker.fresh("i")
        return [
            f"for {turns} in range({self.rng.randint(1, 3)}):",
            *indented(lines),
            *indented(maker.change() or ["pass"]),
        ]

    def _pair(self, name: str, maker: SystemGenerator) -> str:
        assert maker.own is not None
        one, two = maker.own, self.rng.choice((maker.own, self.rng.choice(self.kinds)))
        maker.own = None
        maker.sort = "pair"
        maker.enter("a", one, own=False)
        maker.enter("b", two, own=False)
        maker.names_of_rows.update(a=(one, False), b=(two, False))
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 2)):
            lines += maker.accumulate() or []
            lines += maker.statement(1)
        return _with_functions(maker, f"@wl.system\ndef {name}(a: {one.name}, b: {two.name}, world: Field):", lines)

    def _shared_loop(self, maker: SystemGenerator) -> list[str]:
        """A loop whose iterations threads share: each stores its own element, and accumulates integers."""
        arrays = [a for a in maker.scope.array_writes if a.text.startswith("e.") and len(a.shape) == 1]
        turns = min([a.shape[0] for a in arrays], default=4)
        outer, maker.scope = maker.scope, maker.scope.copy()
        written = {a.text for a in arrays}
        maker.scope.arrays = [a for a in maker.scope.arrays if a.text not in written]
        maker.frozen |= {n for n, _ in maker.scope.locals}
        sums = [
            (t, k)
            for t, k in maker.scope.writes
            if t.startswith("e.") and k.scalar in ("int32", "int64", "bool") and not k.shape
        ]
        sums = self.rng.sample(sums, min(2, len(sums)))
        accumulated = {t for t, _ in sums}
        for texts in maker.scope.reads.values():
            texts[:] = [t for t in texts if t not in accumulated]
        maker.scope.writes, maker.scope.array_writes, maker.scope.ref_writes, maker.leaving = [], [], [], ""
        maker.scope.adds += [
            (t, k, self.rng.choice(("|", "&") if k == BOOL else ("add", "min", "max"))) for t, k in sums
        ]
        turn = maker.fresh("t")
        maker.scope.read(INT, turn)
        maker.scope.bounded.append((turn, turns))
        maker.frozen.add(turn)
        maker.loops += 1
        outer_draws, maker.draws = maker.draws, False
        lines = maker.new_local()
        if maker.chance(0.4):  # each iteration has random numbers of its own
            maker.draws = outer_draws
            lines += maker.drawn() or []
            maker.draws = False
        for array in arrays:
            lines.append(f"{array.text}[{turn}] = {maker.clamped(array.type, maker.value(array.type, 2, typed=False))}")
        for _ in range(2):
            lines += maker.accumulate() or []
        if maker.chance(0.3):
            lines += [f"if {maker.truth()}:", "    continue", *(maker.accumulate() or [])]
        maker.loops -= 1
        maker.draws, maker.scope, maker.leaving = outer_draws, outer, "return"
        return [f"for {turn} in wl.share({turns}):", *indented(lines)]


def _with_functions(maker: SystemGenerator, head: str, lines: list[str]) -> str:
    """The functions of the world that a system calls, and the system."""
    return "\n\n\n".join([*maker.functions, "\n".join([head, *indented(lines)])])


def generate(seed: int, systems: int = 60, sequences: int | None = None) -> str:
    """The text of a random world with ``systems`` systems. The same arguments give the same text.

    ``sequences`` is the number of sequences of systems that run together, with transient components, that the world
    has besides; None for a random number, which is 0 in worlds of few systems.
    """
    return WorldGenerator(seed, systems, sequences).text()
