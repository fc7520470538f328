"""The parts of the endpoint: what goes over the wire, the limits, and the replicas that do the work."""
