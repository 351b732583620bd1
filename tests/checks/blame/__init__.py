"""Tests of `deepprompt.checks.blame`."""
