"""`python -m deepprompt`: the command line."""

import sys

# `python -m` looks for modules in the current folder first: a stranger's json.py there would run in place of Python's.
# Modules that Python itself imports before this line are beyond our reach; see docs/security.md.
if not sys.flags.safe_path:
    del sys.path[0]

from deepprompt.cli import main

if __name__ == "__main__":
    sys.exit(main())
