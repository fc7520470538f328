"""Entry points for `ray job submit … -- python -m pipelines.VERB`; the verbs themselves are in `layoutray.cli`."""
