// Body of the native function that draws picture `slot` of console k: every `lanes`-th scanline, starting at `lane`.
const s32* row = &table.data[KNOWN_ROW(game.data[k], table.shape[0]) * SLOTS];
const u32* events = log.data + ((long long)k * 2 + slot) * log_words;
if (events[0] == NOTHING_LOGGED) return;
Rasterizer rasterizer;
rasterizer.picture = pictures.data + k * (long long)pictures.strides[0] + events[10] * (long long)pictures.strides[1];
rasterizer.first_line = row[5];
rasterizer.replay(events, row[5] + lane, row[5] + row[6], lanes);
