"""Tests of `deepprompt.checks`."""
