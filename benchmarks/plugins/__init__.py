"""Plug-ins of layoutray that only the tables of papers need; `pyproject.toml` of the benchmarks lists them."""
