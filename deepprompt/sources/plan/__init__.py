"""The load plan: which instruction files an agent's profile takes from a project, in which order, and why."""
