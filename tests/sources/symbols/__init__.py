"""Tests of the symbol map."""
