"""What memory means, free of I/O, clocks and threads: identity, transcript, recall, facts."""
