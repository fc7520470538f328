"""Pages that are drawn, with known words and values."""
