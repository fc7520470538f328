"""The parts of the HTTP endpoint: routes, request and response schemas, limits, replicas and metrics."""
