"""Who may ask, how much, and what they did."""
