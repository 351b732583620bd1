"""Tests of `deepprompt.systems`."""
