"""Execute the command `mailbox`."""
