"""Studies of a server, over HTTP."""

from boxthirding.client.remote import RemoteStudy

__all__ = ["RemoteStudy"]
