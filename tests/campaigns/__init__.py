"""Fault campaigns. ``python -m tests.campaigns --help`` lists them."""
