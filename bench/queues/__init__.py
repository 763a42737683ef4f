"""Other task queues, each with no-op tasks."""
