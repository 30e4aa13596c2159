"""A digest of the credentials of a container, by which Berth recognizes a volume that it has filled with them."""

import json

from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_variables

from containers.vocabulary import ContainerSpec

DIGEST_LABEL = "berth.credentials"
"""The label of the volume of the credentials with the digest of what Berth puts there."""


@sensitive_variables()
def digest_credentials(spec: ContainerSpec) -> str:
    """Returns the digest of the files' names, contents and owner. Without `BERTH_SECRET_KEY`, nobody can check a guess
    of a credential with it."""
    files = json.dumps([spec.user, sorted(spec.secrets.items())])
    return salted_hmac(DIGEST_LABEL, files, algorithm="sha256").hexdigest()
