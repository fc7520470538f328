"""Documents for people: boxes, words, pages. Knows nothing of tensors or files."""

from layoutray.document.geometry import Box
from layoutray.document.page import SUMMARY, Document, Field, LabelledArea, Page, Provenance, Word

__all__ = ["SUMMARY", "Box", "Document", "Field", "LabelledArea", "Page", "Provenance", "Word"]
