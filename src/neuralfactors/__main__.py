"""`python -m neuralfactors` is the command line `neuralfactors`."""

from neuralfactors._cli import main

if __name__ == "__main__":
    main()
