"""The dog: its tasks, and the rules that they share."""
