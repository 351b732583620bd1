"""Messages and conversations, read and written for every provider."""

from fuzz import fuzz

if __name__ == "__main__":
    fuzz("check_messages", "check_conversation")
