"""Random statements: assignments, branches and loops over what is in scope, valid by construction."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from worldloom.testing.generator.expressions import ExpressionGenerator
from worldloom.testing.generator.numbers import LETTERS
from worldloom.testing.generator.scope import HelperSpec
from worldloom.testing.reference.functions import ROUGH
from worldloom.testing.reference.types import BOOL, FLOAT, INT, Type

Maker = Callable[[int], list[str]]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class StatementGenerator(ExpressionGenerator):
    """Writes statements. Subclasses override the loops over rows.

    ``left`` is the number of statements that the system may still have, ``loops`` the depth of loops around the current
    one.
    """

    def __init__(self, rng: random.Random, mode: str, helpers: list[HelperSpec]) -> None:
        super().__init__(rng, mode, helpers)
        self.left = 12
        self.loops = 0
        self.names = 0
        self.leaving = "return"
        self.draws = False
        """Whether random numbers may be drawn."""
        self.frozen: set[str] = set()
        """Variables that may not be assigned."""
        self.counters: list[str] = []
        """Variables of the enclosing loops over ranges."""

    def fresh(self, stem: str = "v") -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # -- blocks ------------------------------------------------------------------------------------------------------

    def block(self, depth: int, most: int = 2) -> list[str]:
        """One to ``most`` statements in a scope of their own."""
        outer, self.scope = self.scope, self.scope.copy()
        lines: list[str] = []
        for _ in range(self.rng.randint(1, most)):
            lines += self.statement(depth)
        self.scope = outer
        return lines or ["pass"]

    def statement(self, depth: int) -> list[str]:
        self.left -= 1
        if self.left <= 0 or depth <= 0:
            return self.simple()
        makers: list[tuple[float, Maker]] = [
            (8, lambda _: self.simple()),
            (3, self.branch),
            (2, self.counted),
            (1.2, self.bounded_while),
            (2.5, self.guarded_flag),
            (2, self.over_rows),
            (0.8, self.leave),
        ]
        return self.rng.choices([make for _, make in makers], [weight for weight, _ in makers])[0](depth)

    def simple(self) -> list[str]:
        """A statement without blocks."""
        return self.plain()

    def plain(self) -> list[str]:
        """A statement without blocks that uses nothing but what is in scope."""
        makers: list[tuple[float, Callable[[], list[str] | None]]] = [
            (3, self.new_local),
            (3, self.change_local),
            (5, self.store),
            (2, self.change),
            (2, self.store_element),
            (2, self.accumulate),
            (1, self.store_part),
            (1, self.swap),
            (1, self.store_reference),
            (0.8, self.several),
            (1, self.drawn),
            (0.5, self.rough),
        ]
        for _ in range(6):
            lines = self.rng.choices([make for _, make in makers], [weight for weight, _ in makers])[0]()
            if lines:
                return lines
        return self.new_local()

    # -- assignments -------------------------------------------------------------------------------------------------

    def clamped(self, kind: Any, text: str) -> str:
        """``text`` clamped, in worlds whose numbers must stay small."""
        if kind == FLOAT and self.mode == "dyadic":
            return f"keep({text})"
        if isinstance(kind, Type) and kind.is_float and not kind.shape and self.mode == "smooth":
            text = text if kind == FLOAT or not text[0].isdigit() else self.cast(kind, text)
            return f"wl.clamp({text}, 0.25, 4.0)"
        return text

    def some_type(self) -> Type:
        types = [kind for kind in self.scope.reads if isinstance(kind, Type)]
        return self.rng.choice([*types, BOOL, INT, FLOAT])

    def new_local(self) -> list[str]:
        kind, name = self.some_type(), self.fresh()
        text = self.clamped(kind, self.value(kind))
        self.scope.read(kind, name)
        self.scope.locals.append((name, kind))
        return [f"{name}: {kind} = {text}" if self.chance(0.15) else f"{name} = {text}"]

    def change_local(self) -> list[str] | None:
        known = [(n, k) for n, k in self.scope.locals if n not in self.frozen]
        if not known:
            return None
        name, kind = self.rng.choice(known)
        return self.assigned(name, kind)

    def assigned(self, name: str, kind: Type) -> list[str]:
        augmented = self.augmented(kind) if self.chance(0.3) else None
        if augmented is not None:
            return [f"{name} {augmented}"]
        return [f"{name} = {self.clamped(kind, self.value(kind, typed=False))}"]

    def augmented(self, kind: Type) -> str | None:
        """An operator and its right operand that keep the type of the target."""
        if kind == BOOL:
            return f"{self.rng.choice('&|^')}= {self.truth()}"
        if kind.is_integer and not kind.shape:
            operator = self.rng.choice(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"))
            return f"{operator}= {self.value(kind, 2, typed=False)}"
        if kind.is_float and self.mode == "any" and not kind.shape:
            return f"{self.rng.choice(('+', '-', '*', '/'))}= {self.value(kind, 2, typed=False)}"
        if kind.is_float and self.mode == "any" and kind.family == "vec":
            return f"{self.rng.choice(('+', '-'))}= {self.composite(kind, 1)}"
        return None

    def store(self) -> list[str] | None:
        if not self.scope.writes:
            return None
        return self.assigned(*self.rng.choice(self.scope.writes))

    def change(self) -> list[str] | None:
        """``x.n = x.n + ...``: the new value depends on the old one."""
        if not self.scope.writes:
            return None
        name, kind = self.rng.choice(self.scope.writes)
        if kind == BOOL:
            return [f"{name} = not {name}"]
        if kind.is_integer and not kind.shape:
            return [f"{name} = {name} {self.rng.choice('+-*')} {self.value(kind, 1, typed=False)}"]
        return self.assigned(name, kind)

    def store_element(self) -> list[str] | None:
        if not self.scope.array_writes:
            return None
        array = self.rng.choice(self.scope.array_writes)
        element = f"{array.text}[{', '.join(self.index(size) for size in array.shape)}]"
        return self.assigned(element, array.type)

    def store_part(self) -> list[str] | None:
        """Store one element of a vector or matrix."""
        vectors = [(t, k) for t, k in (*self.scope.writes, *self.scope.locals) if k.shape and t not in self.frozen]
        if not vectors:
            return None
        text, kind = self.rng.choice(vectors)
        if len(kind.shape) == 1 and kind.shape[0] <= len(LETTERS) and self.chance(0.6):
            element = f"{text}.{self.rng.choice(LETTERS[: kind.shape[0]])}"
        else:
            element = f"{text}[{', '.join(self.index(size) for size in kind.shape)}]"
        return [f"{element} = {self.clamped(kind.element, self.value(kind.element, 2, typed=False))}"]

    def swap(self) -> list[str] | None:
        targets = [(t, k) for t, k in (*self.scope.writes, *self.scope.locals) if t not in self.frozen]
        if not targets:
            return None
        one, kind = self.rng.choice(targets)
        two = self.rng.choice([t for t, k in targets if k == kind])
        return [f"{one}, {two} = {two}, {self.clamped(kind, self.value(kind, 1))}"]

    def accumulate(self) -> list[str] | None:
        if not self.scope.adds:
            return None
        text, kind, way = self.rng.choice(self.scope.adds)
        if way in ("|", "&"):
            return [f"{text} {way}= {self.truth()}"]
        if way == "add":
            sign = "+" if self.mode == "smooth" and kind.is_float else self.rng.choice("+-")
            return [f"{text} {sign}= {self.clamped(kind, self.value(kind, 2, typed=False))}"]
        return [f"{text} = {way}({text}, {self.clamped(kind, self.value(kind, 2, typed=False))})"]

    def store_reference(self) -> list[str] | None:
        if not self.scope.ref_writes:
            return None
        text, kind = self.rng.choice(self.scope.ref_writes)
        return [f"{text} = {self.reference(kind)}"]

    def several(self) -> list[str] | None:
        """Unpack the results of a helper."""
        fitting = [h for h in self.helpers if len(h.gives) > 1]
        if not fitting:
            return None
        helper = self.rng.choice(fitting)
        call = f"{helper.name}({', '.join(self.value(t, 1) for t in helper.takes)})"
        names = [self.fresh() for _ in helper.gives]
        for name, kind in zip(names, helper.gives, strict=True):
            self.scope.read(kind, name)
            self.scope.locals.append((name, kind))
        return [f"{', '.join(names)} = {call}"]

    def drawn(self) -> list[str] | None:
        """Draw a random number into a variable."""
        if not self.draws:
            return None
        kind, text = self.random_number()
        name = self.fresh()
        text = self.clamped(kind, text)
        self.scope.read(kind, name)
        self.scope.locals.append((name, kind))
        return [f"{name} = {text}"]

    def random_number(self) -> tuple[Type, str]:
        arrays = [a for a in self.scope.arrays if len(a.shape) == 1 and not a.type.shape]
        chosen = self.rng.random()
        if arrays and chosen < 0.2:
            array = self.rng.choice(arrays)
            return array.type, f"world.choice({array.text})"
        if chosen < 0.3:
            first, last = self.rng.choice(("0.5", "1.0", "2.0")), self.rng.choice(("0.25", "0.0", "1.0"))
            return INT, f"world.weighted(wl.vec3({first}, 0.25, {last}))"
        if chosen < 0.6:
            one_bound = f"world.integer({self.rng.randint(1, 9)})"
            two_bounds = f"world.integer({self.whole(INT, 1)}, {self.whole(INT, 1)})"
            return INT, self.rng.choice((one_bound, two_bounds))
        if chosen < 0.7:
            return INT, f"(world.integer(9) if {self.truth(1)} else world.integer({self.rng.randint(1, 5)}, 20))"
        if self.mode == "dyadic":
            return FLOAT, "wl.floor(world.random() * 8.0)"
        if self.mode == "smooth":
            return FLOAT, "world.random(0.5, 2.0)"
        bounds = ("", "3.0", "-2.0, 5.0", f"{self.real(FLOAT, 1)}, {self.real(FLOAT, 1)}")
        return FLOAT, f"world.random({self.rng.choice(bounds)})"

    def rough(self) -> list[str] | None:
        """Store an elementary function into a component that nothing reads, since devices round it differently."""
        sinks = [text for text, _ in self.scope.writes if text.endswith(".n0")]
        if not sinks:
            return None
        sink = sinks[0].removesuffix("n0") + "rough"
        if self.draws and self.mode != "smooth" and self.chance(0.2):
            return [f"{sink} = world.normal(1.0, 2.0)"]
        name, argument = self.rng.choice(ROUGH), self.real(FLOAT, 1)
        if name == "atan2":
            return [f"{sink} = wl.atan2({argument}, {self.real(FLOAT, 1)})"]
        if name == "pow":
            return [f"{sink} = wl.pow(wl.clamp({argument}, 0.25, 4.0), wl.clamp({self.real(FLOAT, 0)}, 0.0, 3.0))"]
        return [f"{sink} = wl.{name}(wl.clamp({argument}, 0.125, {self.rng.choice(('0.75', '3.0'))}))"]

    # -- flow --------------------------------------------------------------------------------------------------------

    def condition(self) -> str:
        if self.draws and self.chance(0.08):
            return f"world.integer(8) < {self.rng.randint(1, 7)}"
        if self.chance(0.1):
            known = self.known(INT)
            return known or self.truth()
        return self.truth()

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *indented(self.block(depth - 1))]
        while self.chance(0.3):
            lines += [f"elif {self.truth()}:", *indented(self.block(depth - 1, 2))]
        if self.chance(0.5):
            lines += ["else:", *indented(self.block(depth - 1))]
        return lines

    def guarded_flag(self, depth: int) -> list[str]:
        """A branch on a flag that a loop inside the branch changes."""
        flags = [t for t, k in (*self.scope.writes, *self.scope.locals) if k == BOOL and t not in self.frozen]
        if not flags:
            return self.branch(depth)
        flag = self.rng.choice(flags)
        outer, self.scope = self.scope, self.scope.copy()
        before = self.simple() if self.chance(0.5) else []
        change = (
            [f"if {self.truth()}:", f"    {flag} = {self.rng.choice(('False', f'not {flag}', self.truth()))}"]
            if self.chance(0.5)
            else [f"{flag} = False"]
        )
        kind = self.rng.randrange(3)
        if kind == 0:
            loop = self.counted(depth, extra=change)
        elif kind == 1:
            loop = self.over_rows(depth, extra=change)
        else:
            loop = self.bounded_while(depth, extra=change)
        after = self.simple() if self.chance(0.5) else []
        self.scope = outer
        lines = [*before, *loop, *after]
        head = [f"if {flag}:", *indented(lines)]
        if self.chance(0.25):
            head = [f"if {self.truth()}:", *indented(self.block(0, 1)), f"elif {flag}:", *indented(lines)]
        if self.chance(0.7):
            head += ["else:", *indented(self.block(depth - 1, 2))]
        return head

    def looped(self, depth: int, extra: list[str] | None, draws: bool = True) -> list[str]:
        """The body of a loop."""
        outer_draws, self.draws = self.draws, self.draws and draws
        self.loops += 1
        lines = self.block(depth - 1)
        if self.chance(0.25):
            lines += [f"if {self.truth()}:", f"    {self.rng.choice(('break', 'continue'))}"]
            lines += self.block(0, 1)
        self.loops -= 1
        self.draws = outer_draws
        if extra:
            lines = [*extra, *lines] if self.chance(0.5) else [*lines, *extra]
        return lines

    def counted(self, depth: int, extra: list[str] | None = None) -> list[str]:
        reused = [name for name in self.counters if self.chance(0.2)]  # variables of enclosing loops
        name, bound = reused[0] if reused else self.fresh("i"), self.rng.randint(1, 4)
        chosen = self.rng.random()
        outer, self.scope = self.scope, self.scope.copy()
        if chosen < 0.5:
            head = f"range({bound})"
        elif chosen < 0.65:
            head, bound = f"range({bound}, -1, -1)", bound + 1
        elif chosen < 0.8:
            head = f"range({self.rng.choice((0, 1))}, {bound}, {self.rng.choice((1, 2))})"
        elif chosen < 0.92:
            head = f"range({self.whole(INT, 1)} % {bound + 1})"
        else:
            head = self.stepped_range()
        if self.draws and self.chance(0.05):
            head = f"range(world.integer({bound + 1}))"
        self.scope.read(INT, name)
        self.scope.bounded.append((name, bound))
        self.frozen.add(name)
        self.counters.append(name)
        lines = [f"for {name} in {head}:", *indented(self.looped(depth, extra))]
        self.counters.pop()
        self.scope = outer
        return lines

    def stepped_range(self) -> str:
        """A range of few iterations with dynamic bounds, some of them near the limits of int32."""
        step = self.rng.choice((-5, -3, -2, 2, 3, 5))
        if self.chance(0.5):
            return f"range({self.whole(INT, 1)} % 7, {self.whole(INT, 1)} % 9, {step})"
        end = 2**31 - 1 if step > 0 else -(2**31)
        return f"range({self.whole(INT, 1)}, {end}, {step * 300_000_007})"

    def bounded_while(self, depth: int, extra: list[str] | None = None) -> list[str]:
        name = self.fresh("n")
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.read(INT, name)
        tests = [f"{name} < {self.rng.randint(1, 4)}", self.truth()]
        self.rng.shuffle(tests)
        lines = [
            f"{name} = 0",
            f"while {' and '.join(tests)}:",
            f"    {name} += 1",
            *indented(self.looped(depth, extra)),
        ]
        self.scope = outer
        return lines

    def over_rows(self, depth: int, extra: list[str] | None = None) -> list[str]:
        """A loop over other rows; a counted loop in helpers, which have none."""
        return self.counted(depth, extra)

    def leave(self, depth: int) -> list[str]:
        """Leave the loop, the iteration or the whole system."""
        if self.loops and self.chance(0.7):
            return [f"if {self.truth()}:", f"    {self.rng.choice(('break', 'continue'))}"]
        if not self.leaving:
            return self.simple()
        return [f"if {self.truth()}:", *indented(self.block(0, 1)), f"    {self.leaving}"]
