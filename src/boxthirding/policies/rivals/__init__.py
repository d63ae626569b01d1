"""Rivals of the paper: one file for each algorithm."""
