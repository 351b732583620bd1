"""The limits of postbox."""

MOST_TRIES = 3  # tries of one message, the first included
PAUSE = 2.0  # seconds before the second try; doubles with each further one
MOST_WAITING = 100  # messages that wait at the same time
