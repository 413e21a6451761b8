"""The console around the chips: common types and constants, state and its record, bus, RIOT, controls, frame boundaries."""
