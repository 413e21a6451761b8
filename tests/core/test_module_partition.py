"""The modules of a program: kernels with the same block size, with about the same amount of code each."""

from __future__ import annotations

from worldloom.core.codegen import modules
from worldloom.core.codegen.modules import partition


def text_of(sizes: dict[str, int], helper_lines: int = 0) -> str:
    helper = "def helper():\n" + "    pass\n" * helper_lines
    return helper + "".join(
        f"def {name}():\n" + "    helper()\n" + "    pass\n" * lines for name, lines in sizes.items()
    )


def test_small_programs_have_one_module() -> None:
    assert partition(text_of({"a": 20, "b": 30}), {"a": None, "b": None}) == {"a": 0, "b": 0}


def test_code_is_divided_evenly_and_calls_count() -> None:
    lines = modules.MIN_LINES
    sizes = {name: lines // 2 for name in "abcdefgh"}
    found = partition(text_of(sizes), dict.fromkeys(sizes))
    counts = [list(found.values()).count(number) for number in set(found.values())]
    assert len(counts) == 4 and set(counts) == {2}
    assert len(set(partition(text_of(sizes, lines), dict.fromkeys(sizes)).values())) == 8
    many = {f"k{i}": lines for i in range(100)}
    assert len(set(partition(text_of(many), dict.fromkeys(many)).values())) == modules.MAX_MODULES


def test_block_sizes_have_modules_of_their_own() -> None:
    assert partition(text_of({"a": 2, "b": 2, "c": 2}), {"a": None, "b": 64, "c": None}) == {"a": 0, "b": 1, "c": 0}
