"""Where a request ends, no matter how its bytes arrive."""

import pytest

from config.serving.worker.framing import HEAD_LIMIT, Framing, TooLargeError

LIMIT = 100
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = {
    "no headers": b"GET / HTTP/1.1\r\n\r\n",
    "no body": HEAD + b"\r\n",
    "a body": HEAD + b"Content-Length: 5\r\n\r\nabcde",
    "a length with many zeros before it": HEAD + b"Content-Length: " + b"0" * 50 + b"5\r\n\r\nabcde",
    "a length in small letters": HEAD + b"content-length:\t5 \r\n\r\nabcde",
    "a body at the limit": HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * LIMIT,
    "a body of line ends": HEAD + b"Content-Length: 6\r\n\r\n\n\n\r\n\r\n",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    "chunks with extensions": HEAD + b'transfer-encoding:chunked\r\n\r\n3;a="b"\r\nabc\r\n0;x\r\n\r\n',
    "chunks that look like an end": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n",
    "trailers": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "no chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}
REFUSED_AT_ONCE = {
    "a bare line feed": b"GET / HTTP/1.1\n",
    "a bare line feed in the headers": HEAD + b"A: b\n",
    "a chunk without a size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a negative chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
    "a chunk line without an end": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;" + b"a" * 300,
    "a chunk longer than it says": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\n",
    "a length that is none": HEAD + b"Content-Length: five\r\n\r\n",
    "a negative length": HEAD + b"Content-Length: -5\r\n\r\n",
    "a length of many digits": HEAD + b"Content-Length: " + b"9" * 20 + b"\r\n\r\n",
    "a length and one that is none": HEAD + b"Content-Length: 5\r\nContent-Length: five\r\n\r\n",
    **{
        f"the encoding {value!r}": HEAD + b"Transfer-Encoding:" + value + b"\r\n\r\n"
        for value in (b"", b" x", b" *", b' "chunked"', b" identity", b" zip, chunked", b" chunked, x", b" \x80\xff")
    },
    "two encodings": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "an encoding before a space": HEAD + b"Transfer-Encoding : chunked\r\n\r\n",
    "a chunk of nine digits": HEAD + b"Transfer-Encoding: chunked\r\n\r\n000000005\r\n",
}


def ends(request: bytes, *, step: int) -> list[int | None]:
    """Returns the result after each piece of `step` bytes."""
    framing, received = Framing(body_limit=LIMIT), bytearray()
    said = []
    for begin in range(0, len(request), step):
        received += request[begin : begin + step]
        said.append(framing.find_end(received))
    return said


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize("name", WHOLE)
def test_the_end_is_found_with_the_last_byte_and_not_before(name: str, step: int) -> None:
    *before, last = ends(WHOLE[name], step=step)
    assert last == len(WHOLE[name])
    assert not any(before)


@pytest.mark.parametrize("name", WHOLE)
def test_bytes_after_a_request_belong_to_the_next(name: str) -> None:
    assert ends(WHOLE[name] + b"GET /next HTTP/1.1\r\n\r\n", step=10_000) == [len(WHOLE[name])]


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("name", REFUSED_AT_ONCE)
def test_a_request_that_can_no_longer_become_valid_is_refused_at_once(name: str, step: int) -> None:
    assert ends(REFUSED_AT_ONCE[name], step=step)[-1] is not None


@pytest.mark.parametrize("name", REFUSED_AT_ONCE)
def test_a_connection_is_not_reused_if_the_end_of_a_request_is_uncertain(name: str) -> None:
    framing = Framing(body_limit=LIMIT)
    framing.find_end(bytearray(REFUSED_AT_ONCE[name]))
    assert framing.is_refused


@pytest.mark.parametrize("length", [3, 9, 18, 19, 30, 5000])
def test_a_body_over_the_limit_is_not_waited_for(length: int) -> None:
    head = HEAD + b"Content-Length: 1" + b"0" * length + b"\r\nExpect: 100-continue\r\n\r\n"
    framing = Framing(body_limit=LIMIT)
    assert framing.find_end(bytearray(head)) == len(head)
    assert framing.is_refused
    assert not framing.awaits_continue


@pytest.mark.parametrize("size", [1, 30, 101, 0xFFFFFFFF])
def test_chunks_over_the_limit_are_refused_for_any_split(size: int) -> None:
    chunk = b"%x\r\n" % size + b"x" * min(size, LIMIT) + b"\r\n"
    with pytest.raises(TooLargeError) as refused:
        ends(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * (LIMIT // size + 1), step=50)
    assert refused.value.status == 413


@pytest.mark.parametrize("head", [b"A" * HEAD_LIMIT * 2, HEAD + b"A: b\r\n" * HEAD_LIMIT])
@pytest.mark.parametrize("step", [1000, 10**6])
def test_a_head_over_the_limit_is_refused(head: bytes, step: int) -> None:
    with pytest.raises(TooLargeError) as refused:
        ends(head, step=step)
    assert refused.value.status == 431


def test_trailers_over_the_limit_are_refused() -> None:
    with pytest.raises(TooLargeError):
        ends(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * HEAD_LIMIT, step=1000)


@pytest.mark.parametrize("value", [b"100-continue", b"100-Continue "])
def test_a_client_that_expects_100_continue_is_recognised(value: bytes) -> None:
    framing = Framing(body_limit=LIMIT)
    assert framing.find_end(bytearray(HEAD + b"Content-Length: 5\r\nExpect: " + value + b"\r\n\r\n")) is None
    assert framing.awaits_continue
