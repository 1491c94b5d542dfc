"""The outside world: one package for each system that a port is joined to."""
