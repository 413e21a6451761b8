"""Reward rules: their language, and the C++ generated from them."""

import ast

import numpy as np
import pytest
import warp as wp

from worldloom.atari import native
from worldloom.atari.games.multiplayer import MULTIPLAYER_VARIANTS
from worldloom.atari.games.reward_rules import RewardRule, bcd, digit, eighth, read_rule, rules, signed, sprite
from worldloom.atari.games.reward_rules_cpp import LIVES, rules_source
from worldloom.core.base.errors import InputError

SHARED = {variant.rule for variant in MULTIPLAYER_VARIANTS.values()}
BODY = """
Rules m;
m.others[0] = m.others[1] = m.others[2] = 0;
m.begin_rules(game.data[k]);
for (int frame = 0; frame < 6; frame++) {
    for (int i = 0; i < 128; i++) m.ram[i] = memory.data[256 * (6 * k + frame) + i];
    m.cart_ram = memory.data + 256 * (6 * k + frame) + 128;
    m.score_frame(game.data[k]);
    s32* row = results.data + (6 * k + frame) * 7;
    row[0] = m.reward; row[1] = m.lives; row[2] = m.over; row[3] = m.score;
    for (int i = 0; i < 3; i++) row[4 + i] = m.others[i];
}
"""


def results_of_kernel(memory, game):
    """Results of the compiled rules for ``memory``: uint8 (N, 6, 256), six frames of RAM and cartridge RAM each.

    Returns reward, lives, over, score and the rewards of the other players.
    """
    fields = "u8 ram[128]; u8* cart_ram; s32 score, reward, lives; s32 note[4]; s32 others[3]; u8 over;"

    def judge_one(
        k: int, memory: wp.array(dtype=wp.uint8), game: wp.array(dtype=wp.int32), results: wp.array(dtype=wp.int32)
    ): ...

    native_judge = wp.func_native(
        native.header("machine/common") + "struct Rules {" + fields + rules_source() + "};\n" + BODY
    )(judge_one)

    @wp.kernel(enable_backward=False, module="unique")
    def judge(memory: wp.array(dtype=wp.uint8), game: wp.array(dtype=wp.int32), results: wp.array(dtype=wp.int32)):
        native_judge(wp.tid(), memory, game, results)

    results = wp.zeros(len(game) * 6 * 7, dtype=wp.int32, device="cpu")
    wp.launch(
        judge, len(game), [wp.array(memory.ravel(), device="cpu"), wp.array(game, device="cpu"), results], device="cpu"
    )
    return results.numpy().reshape(len(game), 6, 7)


def constants(name):
    """The constants of a rule's comparisons, as bytes."""
    values = {
        node.value & 255 for line in rules()[name].body for node in ast.walk(line) if isinstance(node, ast.Constant)
    }
    return [*sorted(values), 0, 1, 2, 0x80, 0x99, 0xFF]


def test_compiled_rules_say_what_python_says():
    rng, tries = np.random.default_rng(1), 9
    game = np.repeat(np.arange(len(LIVES), dtype=np.int32), tries)
    memory = rng.integers(0, 256, (len(game), 6, 256), dtype=np.uint8)
    for row, name in enumerate(np.repeat(list(LIVES), tries)):
        pool = rng.choice(constants(name), memory[row].shape).astype(np.uint8)
        memory[row] = np.where(rng.random(memory[row].shape) < (0.2, 0.5, 0.9)[row % 3], pool, memory[row])
        memory[row, 1:] = np.where(rng.random(memory[row, 1:].shape) < 0.5, memory[row, :1], memory[row, 1:])
    results = results_of_kernel(memory, game)
    ends = 0
    for row, (name, lives) in enumerate((name, lives) for name, lives in LIVES.items() for _ in range(tries)):
        judge = RewardRule(name, lives)
        for frame in range(6):
            judge.score_frame(memory[row, frame, :128].tobytes(), memory[row, frame, 128:].tobytes())
            assert results[row, frame, :4].tolist() == [judge.reward, judge.lives, int(judge.over), judge.score], (
                name,
                row,
                frame,
            )
            assert name not in SHARED or results[row, frame, 4:].tolist() == [*judge.rewards[1:]], (name, row, frame)
            ends += judge.over
    assert ends > 100


def test_words_of_the_rules():
    assert bcd(0x34, 0x12) == 1234 and bcd(0x99, 0x99, 0x99) == 999_999
    assert (digit(0x17), digit(0x1A)) == (7, 0)
    assert (eighth(0x48), eighth(0x80)) == (9, 0)
    assert (sprite(0x48), sprite(0x58), sprite(0x49)) == (9, 0, 0)
    assert (signed(0x7F), signed(0xFF)) == (127, -1)


def test_cells_are_written_as_addresses():
    rule = read_rule("mine", "    score = $C7 + $F09D + $[0x80 + 1]")
    assert ast.unparse(rule.body[0]) == "score = ram[71] + cart[29] + ram[128 + 1 & 127]"


def test_points_are_how_the_score_changes():
    pong = RewardRule("pong", 0)
    ram = bytearray(128)
    pong.score_frame(bytes(ram))
    ram[0x0E] = 3
    pong.score_frame(bytes(ram))
    assert (pong.score, pong.reward, pong.over) == (3, 3, False)
    ram[0x0D] = 21
    pong.score_frame(bytes(ram))
    assert (pong.score, pong.reward, pong.over) == (-18, -21, True)
    pong.begin()
    assert (pong.score, pong.reward, pong.over) == (0, 0, False)


def test_no_lives_are_left_at_the_end():
    ram = bytearray(128)
    judge = RewardRule("seaquest", 4)
    ram[0x3B] = 3
    judge.score_frame(bytes(ram))
    assert (judge.lives, judge.over) == (4, False)
    ram[0x23] = 1
    judge.score_frame(bytes(ram))
    assert (judge.lives, judge.over) == (0, True)
    ram[0x23] = 0
    judge.score_frame(bytes(ram))
    assert (judge.lives, judge.over) == (4, False)


@pytest.mark.parametrize("lines", ["    score = ", "    score = $C7 +* 2"])
def test_a_rule_that_cannot_be_read_is_told(lines):
    with pytest.raises(InputError, match="the rule of 'mine' cannot be read in its line 1"):
        read_rule("mine", lines)


def test_there_is_no_judge_of_an_unknown_game():
    with pytest.raises(InputError, match="there is no game 'chess'"):
        RewardRule("chess", 3)
