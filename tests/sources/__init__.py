"""Tests of `deepprompt.sources`."""
