"""Mask secrets in text, in time linear in its length."""
