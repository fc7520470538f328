"""Benchmarks that reproduce a paper's tables or time a peer; not installed with the package. See README.md here."""
