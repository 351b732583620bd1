"""Tests of `deepprompt.sources.git`."""
