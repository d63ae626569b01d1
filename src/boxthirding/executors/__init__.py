"""Executors of other machines behind the interface of `concurrent.futures`."""
