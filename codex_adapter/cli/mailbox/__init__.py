"""The command `mailbox`."""
