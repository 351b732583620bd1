"""Tests of `deepprompt.checks.lock`."""
