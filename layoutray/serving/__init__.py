"""Documents in, answers out: requests, answers, keys and jobs. Nothing here imports Ray."""
