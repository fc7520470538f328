"""Documents as plain objects: boxes, words, pages. Imports neither tensor nor file code."""

from layoutray.document.geometry import Box
from layoutray.document.page import REVIEWED, SUMMARY, Document, Field, LabelledArea, Page, Provenance, Word

__all__ = ["REVIEWED", "SUMMARY", "Box", "Document", "Field", "LabelledArea", "Page", "Provenance", "Word"]
