"""Tests of `deepprompt.checks.lint`."""
