// Body of the native function that powers console k on. RAM is kept.
u8* bytes = (u8*)machine.data + (long long)k * machine.strides[0];
const s32* row = &table.data[KNOWN_ROW(game.data[k], table.shape[0]) * SLOTS];
Machine m;
m.load((const u32*)bytes);
m.attach_game(row, words.data, bytes + 4 * RECORD_WORDS);
m.power_on(row[16]);
m.save((u32*)bytes);
