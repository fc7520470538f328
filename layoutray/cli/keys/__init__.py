"""Verbs for keys of the endpoint: `layoutray keys NAME`."""
