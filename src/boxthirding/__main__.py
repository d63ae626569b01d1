"""Run the command line with `python -m boxthirding`."""

from boxthirding.cli import main

if __name__ == "__main__":
    main()
