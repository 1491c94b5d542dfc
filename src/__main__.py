"""`python -m honcho_memory` is the command `honcho-memory`."""

from honcho_memory.cli import main

if __name__ == "__main__":
    main()
