// The body of the native function that draws part `part` of `parts` of both pictures of console k.
const s32* row = &table.data[game.data[k] * SLOTS];
s32 first = row[5], height = row[6];
for (s32 slot = 0; slot < 2; slot++) {
    const u32* events = log.data + ((long long)k * 2 + slot) * log_words;
    if (events[0] == NOTHING_LOGGED) continue;
    Painter painter;
    painter.picture = pictures.data + k * (long long)pictures.strides[0] + events[10] * (long long)pictures.strides[1];
    painter.first_line = first;
    painter.replay(events, first + height * part / parts, first + height * (part + 1) / parts);
}
