"""Lint: the rules, a module for each hundred of codes, and what they share."""
