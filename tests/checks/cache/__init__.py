"""Tests of `deepprompt.checks.cache`."""
