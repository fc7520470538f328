"""The command line: `layoutray VERB`. One module a verb, one sub-package a group of verbs; `verbs` lists them all.

Modules that verbs share: `terminal` (output), `progress` (of long jobs), `options`, `ingest_summary`,
`tracked_training`, `trials`, `dead_letter_filter`, `page_choice`, `output_folder`.
"""
