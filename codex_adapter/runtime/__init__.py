"""Run agents under trio: own the tasks and the child processes of runs."""
