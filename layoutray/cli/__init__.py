"""The command line: `layoutray VERB`. One module a verb, one sub-package a group of verbs; `verbs` lists them all.

`shared` has what several verbs use.
"""
