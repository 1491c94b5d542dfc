"""What the benchmarks share: a server, measuring, and telling."""
