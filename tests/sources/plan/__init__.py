"""Tests of `deepprompt.sources.plan`."""
