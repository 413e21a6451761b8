"""One world of many bodies: a grid finds pairs, and contacts are solved in parallel over the device."""
