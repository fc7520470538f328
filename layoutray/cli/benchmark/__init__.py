"""Verbs that measure speed on this machine: `layoutray benchmark NAME`."""
