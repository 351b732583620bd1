"""The inspector: one page, without a network, on which a prompt, a difference or a session can be looked at."""
