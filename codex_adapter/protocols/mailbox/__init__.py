"""The mailbox: a task worked on by text files that somebody carries to a model and back."""
