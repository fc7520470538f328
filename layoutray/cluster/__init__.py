"""Everything that runs on Ray. No other package of layoutray imports ray."""
