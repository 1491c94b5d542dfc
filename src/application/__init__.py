"""The use cases, written against the ports."""
