"""Documents that are answered later: kept, worked off, and delivered."""
