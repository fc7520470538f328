"""The command line: `layoutray VERB`. One module a verb, one sub-package a group of verbs; `verbs` lists them all.

Shared modules: `terminal` (output), `progress` (progress of long jobs), `options` (options of several verbs), `ingest_summary`,
`tracked_training`, `dead_letter_filter`, `page_choice`, `output_folder`.
"""
