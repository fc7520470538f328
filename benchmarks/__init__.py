"""Benchmarks that reproduce a paper's tables or time a peer, with plug-ins that only they need. See README.md here."""
