"""The endpoint on Ray Serve: where requests arrive, and the replicas that read pages and run models."""
