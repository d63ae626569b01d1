"""The HTTP server: raters with a link, workers with a key. FastAPI is the extra `boxthirding[serve]`."""
