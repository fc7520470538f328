"""Settings of the documentation: Markdown by MyST, the theme furo. `make docs` builds it and fails on every warning."""

project = "layoutray"
html_title = "layoutray"
html_theme = "furo"
extensions = ["myst_parser"]
# Headings down to this level are targets of links, with the same names as on GitHub.
myst_heading_anchors = 3
# Page names are shown as they are; typographic quotes would change commands in running text.
smartquotes = False
html_show_copyright = False
html_show_sphinx = False
