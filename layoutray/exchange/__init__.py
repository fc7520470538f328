"""Pages in the formats of other programs that people work on them with; what comes back is read by `layoutray.readers`."""
