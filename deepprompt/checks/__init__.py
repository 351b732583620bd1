"""Looking at a finished prompt: these modules read a `Prompt` and know nothing of where it came from."""
