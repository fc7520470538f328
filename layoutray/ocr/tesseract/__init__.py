"""What the engines `tesserocr` and `pytesseract` share: settings, language data, preprocessing, parsing of output."""
