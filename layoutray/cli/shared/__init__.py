"""What several verbs use: options, the terminal, progress and reports."""
