"""Stands before the engine's socket and lets through only what Berth asks of it.

Anybody who may use an engine's socket is root on its host. Where Berth runs in a container, it has this proxy's socket
in place of it: a process of its own, without a network, which knows each call of Berth's, reads what a container is to
be made of, and touches nothing that does not carry Berth's labels. It is of the standard library alone, and imports no
other room, so that its image holds nothing else.
"""
