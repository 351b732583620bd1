"""Whether a prompt stays the same when the world around it changes."""
