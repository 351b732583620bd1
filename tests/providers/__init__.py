"""Tests of `deepprompt.providers`."""
