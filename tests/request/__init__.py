"""Tests of `deepprompt.request`."""
