"""What the core asks of the outside world, as protocols."""
