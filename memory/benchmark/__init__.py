"""The memory-writing benchmark: labelled conversations, every memory system on them, and what they remembered."""
