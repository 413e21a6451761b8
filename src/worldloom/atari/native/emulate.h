// The body of the native function that runs the frames of console k.
const s32* row = &table.data[game.data[k] * SLOTS];
u8* bytes = (u8*)machine.data + (long long)k * machine.strides[0];
Machine m;
m.load((const u32*)bytes);
m.plug_in(row, words.data, bytes + 4 * RECORD_WORDS);
m.pictures = pictures.data + k * (long long)pictures.strides[0];
m.picture_bytes = pictures.strides[1];
s32 points = 0, done = 0, wanted = frames.data[k], most = pressed.shape[1];
u32* logs = log.data + (long long)k * 2 * log_words;
logs[0] = logs[log_words] = NOTHING_LOGGED;
for (s32 f = 0; f < wanted && f < most && !m.over; f++) {
    const u8* held = pressed.data + ((long long)k * most + f) * 2;
    s32 slot = f + 2 - wanted;
    m.log = slot < 0 ? 0 : logs + slot * log_words;
    m.log_room = log_words - LOG_HEAD;
    if (held[0] & 128) m.begin_rules(row[4]);
    m.press(held[0] & 31, held[1], held[0] >> 5 & 1, held[0] >> 6 & 1);
    m.frame();
    m.judge(row[4]);
    points += m.reward;
    done++;
}
earned.data[k] = points;
lives.data[k] = m.lives;
over.data[k] = m.over;
ran.data[k] = done;
m.save((u32*)bytes);
