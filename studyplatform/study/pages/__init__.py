"""The participant's pages around the chat."""
