"""Arms from files, and programs that score an arm."""
