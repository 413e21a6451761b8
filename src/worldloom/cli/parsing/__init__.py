"""Values of flags, parsed from text: --policies, --config. Imports core.base, and learn.config for schedules."""
