"""Entry point of `python -m gpu_tests`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
