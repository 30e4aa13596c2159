"""A program for the inside of a container: asks one URL, and prints status and body."""

ASK = """\
import json, sys, urllib.error, urllib.request
url, headers, body, seconds = json.loads(sys.argv[1])
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
request = urllib.request.Request(url, body and body.encode(), headers)
try:
    with opener.open(request, timeout=seconds) as answer:
        print(answer.status, answer.read(2000).decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read(2000).decode())
except OSError as error:
    print(0, type(error).__name__, error)
"""
