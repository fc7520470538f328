"""Verbs for dead letters: `layoutray dead-letters NAME`."""
