"""layoutray: from piles of scanned pages to extractors that their owner trained and hosts."""

__version__ = "0.1.0"
