"""What commands share about options."""

from __future__ import annotations

import argparse


def given(value: str) -> str:
    """Take a value that may not be empty: a shell variable that is not set would be ignored otherwise."""
    if not value:
        raise argparse.ArgumentTypeError("is empty")
    return value
