"""Files that other programs read: their text or bytes from pages and answers."""
