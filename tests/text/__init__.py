"""Tests of `deepprompt.text`."""
