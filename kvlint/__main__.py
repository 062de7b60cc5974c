"""`python -m kvlint`."""

from kvlint.cli import entry

if __name__ == "__main__":
    entry()
