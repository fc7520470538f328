"""People see and correct the answers of a model: documents under review, their corrections, and the page for it."""
