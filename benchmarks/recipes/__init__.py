"""Recipes of the plug-ins, as TOML files."""
