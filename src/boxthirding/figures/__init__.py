"""Pictures from plain numbers: how they look, those of a live run, and small ones for pages that need no package."""
