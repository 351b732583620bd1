"""`python -m deepprompt`."""

import sys

from deepprompt.cli import main

if __name__ == "__main__":
    sys.exit(main())
