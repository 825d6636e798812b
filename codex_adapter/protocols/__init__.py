"""Let other programs use runs by protocols over the public names of the package.

No protocol imports another one (P3).
"""
