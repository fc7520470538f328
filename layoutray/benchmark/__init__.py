"""Measurements that size a machine for a user's own pages: ingest, training, serving and OCR settings."""
