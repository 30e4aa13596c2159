"""Draws QR codes."""

from io import BytesIO

import segno
from django.views.decorators.debug import sensitive_variables


@sensitive_variables("text", "code")
def draw_qr_code(text: str) -> bytes:
    """Returns an SVG without style or script. It is black on white: cameras need the contrast."""
    picture = BytesIO()
    code = segno.make(text, error="m", micro=False)
    code.save(picture, kind="svg", scale=4, border=4, light="#fff", xmldecl=False, svgclass=None, lineclass=None)
    return picture.getvalue()
