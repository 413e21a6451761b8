// The body of the native function that runs the frames of program `row` in console k; none where it is negative.
u32* logs = log.data + (long long)k * 2 * log_words;
logs[0] = logs[log_words] = NOTHING_LOGGED;
if (row < 0) return;
const s32* facts = &table.data[game.data[k] * SLOTS];
u8* bytes = (u8*)machine.data + (long long)k * machine.strides[0];
Machine m;
m.load((const u32*)bytes);
m.plug_in(facts, words.data, bytes + 4 * RECORD_WORDS);
m.pictures = pictures.data + k * (long long)pictures.strides[0];
m.picture_bytes = pictures.strides[1];
if (shares.data) shares.data[3 * k] = shares.data[3 * k + 1] = shares.data[3 * k + 2] = 0;
s32 points = 0, done = 0, wanted = frames.data[row], most = pressed.shape[1], hands = pressed.shape[2], owned = m.lives;
#if defined(__CUDA_ARCH__)
const u32 warp = __activemask();
#endif
bool plays = true;
for (s32 f = 0;; f++) {
    const u8* held = pressed.data + ((long long)row * most + f) * hands;
    plays = plays && f < wanted && f < most && (held[1] & 128 || !(m.over || (one_life && m.lives < owned)));
#if defined(__CUDA_ARCH__)
    m.crew = __ballot_sync(warp, plays);
    if (!m.crew) break;
    if (!plays) continue;  // and wait for the others
#else
    if (!plays) break;
#endif
    m.log = f + window < wanted ? 0 : logs + (wanted - f & 1) * log_words;
    m.log_room = log_words - LOG_HEAD;
    if (held[0] & 128) m.begin_rules(facts[4]);
    s32 step = force.data ? force.data[(long long)row * most + f] : (s32)PADDLE_STEP;
    m.press(held[0] & 31, held[1] & 31, held[0] >> 5 & 1, held[0] >> 6 & 1, step, hands > 2 ? held + 2 : 0);
    m.frame();
    m.others[0] = m.others[1] = m.others[2] = 0;
    m.judge(facts[4]);
    points += m.reward;
    if (shares.data) for (s32 i = 0; i < 3; i++) shares.data[3 * k + i] += m.others[i];
    done++;
}
earned.data[k] = points;
lives.data[k] = m.lives;
over.data[k] = m.over;
ran.data[k] = done;
newest.data[k] = m.buffer;
m.save((u32*)bytes);
