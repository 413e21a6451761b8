"""The state of a batch: snapshots, copies of worlds, recordings and replays. Imports runtime and the layers below."""
