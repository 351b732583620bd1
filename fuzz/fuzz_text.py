"""Text from outside: decoding, revealing, escaping, cutting, instruction files, and what a caller passes in."""

from fuzz import fuzz

if __name__ == "__main__":
    fuzz("check_text", "check_files", "check_builder")
