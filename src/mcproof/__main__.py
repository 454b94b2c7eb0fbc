"""`python -m mcproof`."""

from mcproof.cli.main import run

if __name__ == "__main__":
    run()
