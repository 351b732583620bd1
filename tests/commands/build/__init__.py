"""Tests of `deepprompt.commands.build`."""
