"""The console's native code as a standalone program, compiled with AddressSanitizer and UndefinedBehaviorSanitizer.

The headers are those of the kernels. Two Clang extensions are replaced: boolean vectors by loops, and tail calls by
ordinary calls, whose depth the stack can hold. Every console has its own allocation, so an access one byte beyond it is
reported.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

from worldloom.atari import native
from worldloom.atari.emulator.console_kernels import CONSTANTS
from worldloom.atari.emulator.emulator_batch import LOG
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.games.reward_rules_cpp import rules_source

CHECKS = "address,bounds,shift,signed-integer-overflow,null,alignment,integer-divide-by-zero,bool,enum,return"

_VECTORS = """struct Pixels {
    u8 at[32];
    Pixels() {}
    Pixels(u8 colour) { for (u32 i = 0; i < 32; i++) at[i] = colour; }
};

void blend(Pixels& onto, u32 pixels, Pixels look) const {
    for (u32 i = 0; i < 32; i++) if (pixels >> i & 1) onto.at[i] = look.at[i];
}
"""

_PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <vector>
#define CUDA_CALLABLE

template <typename T> struct Array {
    T* data;
    int shape[4], strides[4];
};
typedef unsigned char byte;

void emulate_some(int first, int count, int turn, int consoles_per_thread, Array<bool> mask, bool value, int window,
    bool one_life, int log_words, Array<byte> machine, Array<int> game, Array<uint32_t> words, Array<int> table,
    Array<byte> pressed, Array<int> frames, Array<int> program, Array<int> force, Array<int> shares, Array<int> earned,
    Array<int> lives, Array<bool> over, Array<int> ran, Array<int> newest, Array<uint32_t> log, Array<byte> pictures) {
%(machine)s
%(emulate)s
}

void draw_one(int k, int slot, int lane, int lanes, int log_words, Array<int> game, Array<int> table,
    Array<uint32_t> log, Array<byte> pictures) {
%(rasterizer)s
%(draw)s
}

static uint64_t seed;
static uint32_t draw_number() {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

template <typename T> struct Memory {  // exactly `count` elements
    T* data;
    Memory(size_t count) : data((T*)calloc(count ? count : 1, sizeof(T))) {}
    ~Memory() { free(data); }
};

static const int HOSTILE[] = {
    0, 1, 2, -1, 7, 127, 128, 255, 256, 5000, 0x7FFFFFFF, (int)0x80000000, 0x20000000, -0x10000000};
static int hostile() { return draw_number() & 1 ? HOSTILE[draw_number() %% 14] : (int)draw_number(); }

int main(int, char** argv) {
    const int games = atoi(argv[2]), record = atoi(argv[3]), height = atoi(argv[4]), slots = atoi(argv[5]);
    const int trials = atoi(argv[6]);
    const long words_count = atol(argv[7]);
    std::vector<uint32_t> words(words_count);
    std::vector<int> table(games * slots);
    std::vector<byte> states(games * record);
    FILE* file = fopen(argv[1], "rb");
    if (!file || fread(words.data(), 4, words.size(), file) != words.size() ||
        fread(table.data(), 4, table.size(), file) != table.size() ||
        fread(states.data(), 1, states.size(), file) != states.size()) return 2;
    fclose(file);
    const int log_words = %(log)d, frames_each = 3;
    for (int trial = 0; trial < trials; trial++) {
        seed = 88172645463325252ull + 7919ull * trial;
        for (int i = 0; i < 8; i++) draw_number();
        const int played = draw_number() %% games;
        Memory<byte> machine(record), pressed(frames_each * 2), pictures(2 * height * 160);
        Memory<int> game(1), frames(1), program(1), force(frames_each), shares(3);
        Memory<int> earned(1), lives(1), ran(1), newest(1);
        Memory<bool> over(1);
        Memory<uint32_t> own_words(words.size()), log(2 * log_words);
        Memory<int> own_table(table.size());
        memcpy(own_words.data, words.data(), 4 * words.size());
        memcpy(own_table.data, table.data(), 4 * table.size());
        memcpy(machine.data, states.data() + played * record, record);
        game.data[0] = played, frames.data[0] = frames_each;
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < frames_each; i++) {
                pressed.data[2 * i] = draw_number(), pressed.data[2 * i + 1] = draw_number();
                force.data[i] = hostile();
            }
            if (round == 1) {
                const uint32_t way = draw_number() %% 4;
                if (way == 0) for (int i = 0; i < record; i++) machine.data[i] = draw_number();
                for (uint32_t i = draw_number() %% 24; way < 3 && i; i--)
                    machine.data[draw_number() %% record] = draw_number();
                for (uint32_t i = draw_number() %% 4; i; i--) {
                    const int value = hostile();
                    memcpy(machine.data + 4 * (draw_number() %% (record / 4)), &value, 4);
                }
                if (draw_number() %% 3 == 0) game.data[0] = hostile();
                if (draw_number() %% 4 == 0) frames.data[0] = hostile();
                program.data[0] = draw_number() %% 8 ? 0 : hostile();
            }
            const int windows[] = {0, 1, 2, 4, 1 << 20};
            emulate_some(0, 1, 0, 1, {nullptr}, true, windows[draw_number() %% 5], draw_number() & 1, log_words,
                {machine.data, {1, record}, {record, 1}}, {game.data, {1}}, {own_words.data, {(int)words.size()}},
                {own_table.data, {games, slots}}, {pressed.data, {1, frames_each, 2}}, {frames.data, {1}},
                {draw_number() & 1 ? program.data : nullptr, {1}},
                {draw_number() & 1 ? force.data : nullptr, {1, frames_each}},
                {draw_number() & 1 ? shares.data : nullptr, {1, 3}}, {earned.data, {1}}, {lives.data, {1}},
                {over.data, {1}}, {ran.data, {1}}, {newest.data, {1}}, {log.data, {2 * log_words}},
                {pictures.data, {1, 2, height, 160}, {2 * height * 160, height * 160, 160, 1}});
            for (int slot = 0; slot < 2; slot++)
                draw_one(0, slot, 0, 1, log_words, {game.data, {1}}, {own_table.data, {games, slots}},
                    {log.data, {2 * log_words}},
                    {pictures.data, {1, 2, height, 160}, {2 * height * 160, height * 160, 160, 1}});
            if (newest.data[0] < 0 || newest.data[0] > 1) return 3;
        }
    }
    printf("%%d states\\n", trials);
    return 0;
}
"""


def compiler() -> str | None:
    """The path of g++, or None."""
    return shutil.which("g++")


def _without_clang(text: str) -> str:
    """The source without boolean vectors and without tail calls."""
    start, end = text.index("typedef u8 Pixels"), text.index("void segment(s32 line")
    text = text[:start] + _VECTORS + text[end:]
    return text.replace("[[clang::musttail]] ", "")


def build(folder: Path, log_words: int = LOG) -> Path:
    """Compile the program that runs random states; CalledProcessError if that fails."""
    parts = {
        "machine": _without_clang(CONSTANTS + native.machine(rules_source())),
        "rasterizer": _without_clang(CONSTANTS + native.rasterizer()),
        "emulate": native.header("kernels/emulate"),
        "draw": native.header("kernels/draw"),
        "log": log_words,
    }
    source, program = folder / "console.cpp", folder / "console"
    source.write_text(_PROGRAM % parts)
    command = [
        str(compiler()),
        "-std=c++17",
        "-O0",  # compiled faster, and the states run for few frames
        "-g1",
        "-w",
        f"-fsanitize={CHECKS}",
        "-fno-sanitize-recover=all",
        str(source),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


def run(
    program: Path, rom_bank: RomBank, states: np.ndarray, trials: int, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run random states of consoles with the games of ``rom_bank``, from the states uint8 (games, record)."""
    data = folder / "rom_bank.bin"
    data.write_bytes(
        rom_bank.words.astype(np.uint32).tobytes()
        + rom_bank.table.astype(np.int32).tobytes()
        + np.ascontiguousarray(states).tobytes()
    )
    numbers = [
        len(rom_bank.table),
        rom_bank.record,
        rom_bank.height,
        rom_bank.table.shape[1],
        trials,
        len(rom_bank.words),
    ]
    return subprocess.run([str(program), str(data), *map(str, numbers)], capture_output=True, text=True, timeout=300)
