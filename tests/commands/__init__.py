"""Tests of `deepprompt.commands`."""
