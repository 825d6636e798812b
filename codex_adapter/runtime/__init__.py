"""The trio side: it owns the tasks and the child processes of runs."""
