"""What is shown of a frame: television standards, palettes, resizing and the observation kernel. May import native and games."""
