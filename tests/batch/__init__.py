"""Tests of `deepprompt.batch`."""
