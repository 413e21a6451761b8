"""Bank switching, cartridge RAM and the DPC chip."""
