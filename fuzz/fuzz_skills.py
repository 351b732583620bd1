"""Skills: front matter, names, columns and bodies."""

from fuzz import fuzz

if __name__ == "__main__":
    fuzz("check_skill")
