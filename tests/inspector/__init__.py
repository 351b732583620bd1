"""Tests of `deepprompt.inspector`."""
