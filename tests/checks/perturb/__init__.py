"""Tests of `deepprompt.checks.perturb`."""
