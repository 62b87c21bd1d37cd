"""`python -m neuralfactors` is the command line `neuralfactors`."""

from neuralfactors.cli import main

if __name__ == "__main__":
    main()
