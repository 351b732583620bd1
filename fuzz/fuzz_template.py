"""Templates and their includes."""

from fuzz import fuzz

if __name__ == "__main__":
    fuzz("check_template")
