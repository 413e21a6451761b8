// Body of the native function that runs the frames of programs in consoles, starting at `first`: one console per thread
// on a GPU, `consoles_per_thread` on a CPU. Those are interleaved every few hundred instructions: the branch predictor
// has learned that part of the game when the next console runs it.

struct Lane {
    Machine m;
    s32 k, row, points, done, owned;
    bool plays;
};
const s32 most = pressed.shape[1], hands = pressed.shape[2];

const auto held = [&](const Lane& lane, s32 f) { return pressed.data + ((long long)lane.row * most + f) * hands; };
const auto memory_of = [&](s32 k) { return (u8*)machine.data + (long long)k * machine.strides[0]; };
const auto logs_of = [&](s32 k) { return log.data + (long long)k * 2 * log_words; };
const auto game_row_of = [&](s32 k) { return &table.data[KNOWN_ROW(game.data[k], table.shape[0]) * SLOTS]; };

// Loads console k; false if it has nothing to do.
const auto load_lane = [&](Lane& lane, s32 k) {
    if (mask.data && mask.data[k] != value) return false;
    lane.k = k, lane.row = program.data ? program.data[k] : k;
    logs_of(k)[0] = logs_of(k)[log_words] = NOTHING_LOGGED;
    if ((u32)lane.row >= (u32)pressed.shape[0]) return false;  // -1, or out of range
    Machine& m = lane.m;
    m.load((const u32*)memory_of(k));
    m.attach_game(game_row_of(k), words.data, memory_of(k) + 4 * RECORD_WORDS);
    m.pictures = pictures.data + k * (long long)pictures.strides[0];
    m.picture_bytes = pictures.strides[1];
    if (shares.data) shares.data[3 * k] = shares.data[3 * k + 1] = shares.data[3 * k + 2] = 0;
    lane.points = lane.done = 0, lane.owned = m.lives, lane.plays = true;
    return true;
};

// Whether frame f runs.
const auto should_run = [&](Lane& lane, s32 f) {
    const Machine& m = lane.m;
    lane.plays = lane.plays && f < frames.data[lane.row] && f < most && (held(lane, f)[1] & 128 || !(m.over || (one_life && m.lives < lane.owned)));
    return lane.plays;
};

const auto begin = [&](Lane& lane, s32 f) {
    const u8* pushed = held(lane, f);
    const s32 wanted = frames.data[lane.row];
    Machine& m = lane.m;
    m.log = f + window < wanted ? 0 : logs_of(lane.k) + (wanted - f & 1) * log_words;
    m.log_room = log_words - LOG_HEAD;
    if (pushed[0] & 128) m.begin_rules(game_row_of(lane.k)[4]);
    const s32 step = force.data ? force.data[(long long)lane.row * most + f] : (s32)PADDLE_STEP;
    m.press(pushed[0] & 31, pushed[1] & 31, pushed[0] >> 5 & 1, pushed[0] >> 6 & 1, step, hands > 2 ? pushed + 2 : 0);
    m.enter_frame();
};

const auto end = [&](Lane& lane) {
    Machine& m = lane.m;
    m.leave_frame();
    if (window == EVERY_FRAME && m.log && lane.done + 2 < frames.data[lane.row]) m.draw_frame();
    m.others[0] = m.others[1] = m.others[2] = 0;
    m.score_frame(game_row_of(lane.k)[4]);
    lane.points += m.reward;
    if (shares.data) for (s32 i = 0; i < 3; i++) shares.data[3 * lane.k + i] += m.others[i];
    lane.done++;
};

const auto store_lane = [&](Lane& lane) {
    const s32 k = lane.k;
    earned.data[k] = lane.points;
    lives.data[k] = lane.m.lives;
    over.data[k] = lane.m.over;
    ran.data[k] = lane.done;
    newest.data[k] = lane.m.buffer;
    lane.m.save((u32*)memory_of(k));
};

#if defined(__CUDA_ARCH__)
Lane lane;
if (!load_lane(lane, first + turn)) return;
const u32 warp = __activemask();
for (s32 f = 0;; f++) {
    const bool plays = should_run(lane, f);
    lane.m.warp_mask = __ballot_sync(warp, plays);
    if (!lane.m.warp_mask) break;
    if (!plays) continue;  // waits for the others
    begin(lane, f);
    lane.m.run();
    end(lane);
}
store_lane(lane);
#else
Lane lanes[MAX_CONSOLES_PER_THREAD];
u32 taken = 0;
for (s32 k = first + turn * consoles_per_thread; k < first + count && k < first + (turn + 1) * consoles_per_thread; k++) taken += load_lane(lanes[taken], k);
for (s32 f = 0;; f++) {
    u32 playing = 0;
    for (u32 i = 0; i < taken; i++) {
        if (!should_run(lanes[i], f)) continue;
        begin(lanes[i], f);
        playing |= 1u << i;
    }
    if (!playing) break;
    for (u32 running = playing; running;)
        for (u32 i = 0; i < taken; i++)
            if (running >> i & 1 && !lanes[i].m.run_quantum()) running &= ~(1u << i);
    for (u32 i = 0; i < taken; i++)
        if (playing >> i & 1) end(lanes[i]);
}
for (u32 i = 0; i < taken; i++) store_lane(lanes[i]);
#endif
