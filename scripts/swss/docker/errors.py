"""Errors of the client."""


class NotFound(Exception):
    """No container has this name."""
