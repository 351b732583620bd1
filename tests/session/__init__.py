"""Tests of `deepprompt.session`."""
