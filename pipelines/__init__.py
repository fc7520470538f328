"""The verbs: each module is one, as `layoutray VERB …` and as `python -m pipelines.VERB …` (for `ray job submit`)."""
