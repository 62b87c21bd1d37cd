"""`python -m neuralfactors` is the command line `neuralfactors`."""

import sys

from neuralfactors.extras import advice, is_ours


def main() -> None:
    """Run the command line, or say which extra brings it."""
    try:
        from neuralfactors.cli import main as run
    except ModuleNotFoundError as error:
        if is_ours(error):
            raise
        sys.exit(f"Error: {advice('the command line', error, 'segment')}")
    run()


if __name__ == "__main__":
    main()
