"""Text as characters: cleaning it, hiding keys, comparing it. Nothing here reads a file."""
