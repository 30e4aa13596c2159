"""As everywhere else in Berth."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i e"
