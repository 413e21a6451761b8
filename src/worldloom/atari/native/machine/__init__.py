"""The console around the chips: common types, state and its record, bus, RIOT, controls and frame boundaries."""
