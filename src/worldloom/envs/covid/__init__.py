"""The COVID-19 economy."""
