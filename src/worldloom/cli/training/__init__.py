"""What surrounds a training run on a terminal: live panel, stopping on a signal, the run's curve and video. Imports terminal, learn, view and core; no command."""
