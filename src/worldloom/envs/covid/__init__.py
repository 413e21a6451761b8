"""The COVID-19 economy: 51 governors close and open their states, and a planner pays subsidies."""
