"""Verbs that draw: `layoutray picture NAME`."""
