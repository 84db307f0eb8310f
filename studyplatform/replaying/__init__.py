"""Recorded conversations through every memory system, without people and without a browser, by the code of a live study."""
