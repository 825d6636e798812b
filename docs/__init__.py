"""Hold the pages of the documentation site, and their generator in `docs.generate`."""
