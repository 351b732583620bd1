"""Batch files: many requests on one shared prefix, for a provider to work through within a day, and their results."""
