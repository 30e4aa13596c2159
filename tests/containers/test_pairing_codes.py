"""Pairing codes: the service signs them, the agent reads them, and nobody else can make them."""

from itertools import product
from string import ascii_letters, digits

import pytest

from containers.agent_contract import PairingCode, PairingKind, read_pairing_code
from containers.agent_reports import MOST_PEOPLE, parse_report

pytestmark = pytest.mark.one_database
SECRET = "a secret of one project"
CODES = [
    PairingCode(kind, number, expires)
    for kind, number, expires in product(PairingKind, (0, 1, 7, 2**31 - 1), (0, 1_795_478_400, 99_999_999_999))
]


def test_a_code_is_decoded_as_signed_and_fits_into_a_link() -> None:
    for code in CODES:
        text = code.sign(SECRET)
        assert read_pairing_code(text, SECRET) == code
        assert len(text) <= 64
        assert set(text) <= set(ascii_letters + digits + "_-")
    assert len({code.sign(SECRET) for code in CODES}) == len(CODES)


def test_no_other_secret_verifies_a_code() -> None:
    for other in ("", "a secret of another project", SECRET + " ", SECRET.upper()):
        assert all(read_pairing_code(code.sign(SECRET), other) is None for code in CODES)


def test_no_code_that_differs_in_one_character_counts() -> None:
    """Nor one with another spelling: the last character of base64 has unused bits."""
    text = PairingCode(PairingKind.ADD, 17, 1_795_478_400).sign(SECRET)
    for place, letter in product(range(len(text)), "oar019-_AQgwzZ+= \n٣"):
        changed = text[:place] + letter + text[place + 1 :]
        assert changed == text or read_pairing_code(changed, SECRET) is None
    around = [
        f" {text}",
        f"{text} ",
        f"{text}\n",
        text[:-1],
        text + "A",
        text + "=",
        text.upper(),
        "",
        "-",
        "\0",
        "a" * 64,
    ]
    assert all(read_pairing_code(each, SECRET) is None for each in around)
    assert read_pairing_code(text.replace("a17", "a017"), SECRET) is None


@pytest.mark.parametrize(
    ("told", "heard"),
    [("0", 0), ("2", 2), (str(MOST_PEOPLE), MOST_PEOPLE), (str(MOST_PEOPLE + 1), None), (str(10**40), None)]
    + [(value, None) for value in ("-1", "1.5", "true", "false", "null", '"3"', "[1]", "{}", "NaN")],
)
def test_an_agent_reports_the_number_of_paired_users(told: str, heard: int | None) -> None:
    report = parse_report('{"v":1,"state":"running","code":null,"detail":null,"paired":' + told + "}")
    assert report is not None
    assert report.paired == heard
    silent = parse_report('{"v":1,"state":"running"}')
    assert silent is not None
    assert silent.paired is None
