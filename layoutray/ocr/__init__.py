"""Recognition: words with boxes from a picture or PDF, by OCR or from a PDF's text layer."""
