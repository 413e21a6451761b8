// The body of the native function that runs the frames of programs in consoles, those of `first` on: on a GPU each thread has one, on a CPU `together` of
// them. These take turns every few hundred instructions: the part of the game that one has just run, the CPU knows its way through when the next one comes.

struct Seat {
    Machine m;
    s32 k, row, points, done, owned;
    bool plays;
};
const s32 most = pressed.shape[1], hands = pressed.shape[2];

const auto held = [&](const Seat& seat, s32 f) { return pressed.data + ((long long)seat.row * most + f) * hands; };
const auto memory_of = [&](s32 k) { return (u8*)machine.data + (long long)k * machine.strides[0]; };
const auto logs_of = [&](s32 k) { return log.data + (long long)k * 2 * log_words; };
const auto facts_of = [&](s32 k) { return &table.data[KNOWN_ROW(game.data[k], table.shape[0]) * SLOTS]; };

// Whether console k has anything to do.
const auto sit_down = [&](Seat& seat, s32 k) {
    if (mask.data && mask.data[k] != value) return false;
    seat.k = k, seat.row = program.data ? program.data[k] : k;
    logs_of(k)[0] = logs_of(k)[log_words] = NOTHING_LOGGED;
    if ((u32)seat.row >= (u32)pressed.shape[0]) return false;  // -1, or no program
    Machine& m = seat.m;
    m.load((const u32*)memory_of(k));
    m.plug_in(facts_of(k), words.data, memory_of(k) + 4 * RECORD_WORDS);
    m.pictures = pictures.data + k * (long long)pictures.strides[0];
    m.picture_bytes = pictures.strides[1];
    if (shares.data) shares.data[3 * k] = shares.data[3 * k + 1] = shares.data[3 * k + 2] = 0;
    seat.points = seat.done = 0, seat.owned = m.lives, seat.plays = true;
    return true;
};

// Whether frame f is played.
const auto goes_on = [&](Seat& seat, s32 f) {
    const Machine& m = seat.m;
    seat.plays = seat.plays && f < frames.data[seat.row] && f < most && (held(seat, f)[1] & 128 || !(m.over || (one_life && m.lives < seat.owned)));
    return seat.plays;
};

const auto begin = [&](Seat& seat, s32 f) {
    const u8* pushed = held(seat, f);
    const s32 wanted = frames.data[seat.row];
    Machine& m = seat.m;
    m.log = f + window < wanted ? 0 : logs_of(seat.k) + (wanted - f & 1) * log_words;
    m.log_room = log_words - LOG_HEAD;
    if (pushed[0] & 128) m.begin_rules(facts_of(seat.k)[4]);
    const s32 step = force.data ? force.data[(long long)seat.row * most + f] : (s32)PADDLE_STEP;
    m.press(pushed[0] & 31, pushed[1] & 31, pushed[0] >> 5 & 1, pushed[0] >> 6 & 1, step, hands > 2 ? pushed + 2 : 0);
    m.enter_frame();
};

const auto end = [&](Seat& seat) {
    Machine& m = seat.m;
    m.leave_frame();
    if (window == EVERY_FRAME && m.log && seat.done + 2 < frames.data[seat.row]) m.draw_frame();
    m.others[0] = m.others[1] = m.others[2] = 0;
    m.judge(facts_of(seat.k)[4]);
    seat.points += m.reward;
    if (shares.data) for (s32 i = 0; i < 3; i++) shares.data[3 * seat.k + i] += m.others[i];
    seat.done++;
};

const auto get_up = [&](Seat& seat) {
    const s32 k = seat.k;
    earned.data[k] = seat.points;
    lives.data[k] = seat.m.lives;
    over.data[k] = seat.m.over;
    ran.data[k] = seat.done;
    newest.data[k] = seat.m.buffer;
    seat.m.save((u32*)memory_of(k));
};

#if defined(__CUDA_ARCH__)
Seat seat;
if (!sit_down(seat, first + turn)) return;
const u32 warp = __activemask();
for (s32 f = 0;; f++) {
    const bool plays = goes_on(seat, f);
    seat.m.crew = __ballot_sync(warp, plays);
    if (!seat.m.crew) break;
    if (!plays) continue;  // and wait for the others
    begin(seat, f);
    seat.m.run();
    end(seat);
}
get_up(seat);
#else
Seat seats[MOST_TOGETHER];
u32 taken = 0;
for (s32 k = first + turn * together; k < first + count && k < first + (turn + 1) * together; k++) taken += sit_down(seats[taken], k);
for (s32 f = 0;; f++) {
    u32 playing = 0;
    for (u32 i = 0; i < taken; i++) {
        if (!goes_on(seats[i], f)) continue;
        begin(seats[i], f);
        playing |= 1u << i;
    }
    if (!playing) break;
    for (u32 running = playing; running;)
        for (u32 i = 0; i < taken; i++)
            if (running >> i & 1 && !seats[i].m.run_some()) running &= ~(1u << i);
    for (u32 i = 0; i < taken; i++)
        if (playing >> i & 1) end(seats[i]);
}
for (u32 i = 0; i < taken; i++) get_up(seats[i]);
#endif
