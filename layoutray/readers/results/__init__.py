"""Readers of what other OCR engines and services have recognised."""
