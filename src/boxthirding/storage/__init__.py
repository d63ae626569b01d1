"""Where studies are kept: memory, SQLite, PostgreSQL."""

from boxthirding.storage.opening import list_studies, open_study

__all__ = ["list_studies", "open_study"]
