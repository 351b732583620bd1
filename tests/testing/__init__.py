"""Tests of `deepprompt.testing`."""
