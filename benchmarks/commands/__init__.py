"""One module per benchmark: its options, its run and its tables. `python -m benchmarks NAME` calls `main`."""
