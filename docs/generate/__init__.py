"""Generate the reference pages of the documentation site, and check the site.

`hook.py` is what MkDocs loads. The other modules do not need MkDocs, so that tests can read the pages without it.
"""
