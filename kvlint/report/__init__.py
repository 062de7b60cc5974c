"""What a run found as text: for people, for logs and for other tools."""
