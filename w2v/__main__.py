"""`python -m w2v` is the command line."""

from w2v.cli import main

main()
