"""A proxy in front of the engine's socket that lets through only the calls that Berth makes.

Anyone who may use an engine's socket is root on its host. When Berth runs in a container, it gets this proxy's socket
instead. The proxy is a separate process without a network. It knows each of Berth's calls, checks the settings of each
new container, and touches nothing without Berth's labels. It uses only the standard library, and imports no other
package of Berth, so that its image contains nothing else.
"""
