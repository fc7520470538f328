"""Measures a checkpoint on pages with known answers. One pass of the model is shared by all scores.

`evaluate.evaluate` does all of it. The other modules hold its parts: which pages are measured (`page_selection`), their
examples (`examples`), the pass of the model (`predictions`), and the scores of entities, fields and texts with the
calibration of confidences.
"""
