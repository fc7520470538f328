"""Recipes: the complete settings of a run, as TOML on disk and as frozen dataclasses in memory.

There are three kinds, each in a module of its own. An ingest recipe says how files become pages with words, a mix
recipe how pages of several data sets become one data set, and a training recipe how pages become a model.
"""
