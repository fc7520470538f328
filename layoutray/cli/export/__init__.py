"""Verbs that write pages in the format of another program: `layoutray export NAME`."""
