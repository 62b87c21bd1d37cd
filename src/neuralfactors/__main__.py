"""`python -m neuralfactors` is the command line `neuralfactors`."""

from neuralfactors.cli import main

main()
