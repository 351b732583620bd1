"""Where all input from the world comes in: files, folders, git, the clock and the environment."""
