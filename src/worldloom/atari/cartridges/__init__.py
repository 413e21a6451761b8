"""ROM images: files and where they are found, bank-switching kinds, the image as words for the emulated CPU, and memory at power-on. May import games."""
