"""Export of pages to other programs. `layoutray.readers` reads the results back."""
