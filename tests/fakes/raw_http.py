"""HTTP as bytes on a socket, one request for each connection."""

import socket

PIECE = 65536


def read_request(connection: socket.socket) -> bytes:
    """Returns one request with its body, rewritten as the only one of its connection to the engine."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(PIECE)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
    length = int(fields.get(b"content-length", b"0"))
    while len(body) < length or (b"transfer-encoding" in fields and not body.endswith(b"0\r\n\r\n")):
        piece = connection.recv(PIECE)
        if not piece:
            return b""
        body += piece
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + body


def as_answer(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
