"""Decide by a variable's name whether its value is a credential (X5)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_credential_name"]

# Matches anywhere in a name.
_ANYWHERE = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASSWORD|PASSWD|PASSWRD|PASSPHRASE|PASSCODE|CREDENTIAL|AUTHORIZATION|COOKIE(?!CUTTER)|BEARER"
    r"|(?:API|ACCESS|PRIVATE|SIGNING|ENCRYPTION|MASTER|DEPLOY|LICENSE|SERVICE_?ROLE|SERVICE_?ACCOUNT|UNSEAL)_?KEY"
    r"|WEBHOOK|(?:DISCORD|SLACK|TEAMS|MATTERMOST|GCHAT|DEPLOY|BUILD)_HOOK\Z|(?:SSH|GPG|PGP|RSA|EC)_?PRIVATE|ID_(?:RSA|DSA|ECDSA|ED25519)(?:_SK)?\Z"
    r"|KUBECONFIG_(?:CONTENT|B64|BASE64|JSON|YAML)|DOCKER_?(?:CONFIG_?JSON|AUTH_CONFIG)|(?:GCP|GOOGLE|FIREBASE)_(?:SA|CREDS?|SERVICE_ACCOUNT)_?(?:JSON|B64|BASE64)"
    r"|CONN(?:ECTION)?_?STR(?:ING)?(?![A-Z])|KUBECONFIG_DATA|HTPASSWD"
)
# Matches a whole word of a name. The words after it may name a kind, a stage or a number.
_WORD = re.compile(
    r"(?:\A|_)(?:KEY|KEYS|SK|PAT|PWD|PASS|PW|PSW|PSWD|PASSWORT|AUTH|DSN|PSK|CREDS?|JWT|SAS|HMAC|OTP|TOTP|MFA_SEED|SEED_PHRASE"
    r"|MNEMONIC|SALT|PEPPER|PEM|PIN_?CODE|(?:APP|AUTH|ENC|SIGN|SSH|GPG|PGP|DB|STORAGE|ACCOUNT|SHARED|SESSION|HMAC|AES|RSA|ROOT)KEY"
    r"|[A-Z0-9]+PASS|[A-Z0-9]+PWD|[A-Z0-9]*(?:DB|SQL|SMTP|FTP|ADMIN|ROOT|USER|LDAP)PW)"
    r"(?P<rest>(?:_[A-Z0-9]+)*)\Z"
)
_NOT_SECRET: Final = frozenset({"PWD", "OLDPWD", "OLD_PWD", "INIT_CWD"})
_ENDS_LIKE_ONE = re.compile(r"(?:\A|_)(?:COM|BY|OVER|UNDER|TRES|SUR|ENCOM|MULTI|ASK)PASS")
# A word after or before the match that gives the name another meaning.
_AFTER: Final = frozenset(
    {
        *("FILE", "FILES", "PATH", "PATHS", "DIR", "DIRECTORY", "FOLDER", "ID", "IDS", "NAME", "NAMES", "TYPE", "SOCK"),
        *("SOCKET", "MODE", "METHOD", "METHODS", "LENGTH", "LEN", "SIZE", "BITS", "ALGORITHM", "ALGO", "ALG", "CURVE"),
        *("BOARD", "MAP", "MAPPING", "URL", "URI", "HOST", "PORT", "ENDPOINT", "SERVER", "DOMAIN", "REALM", "SCHEME"),
        *("PROVIDER", "PROVIDERS", "BACKEND", "BACKENDS", "ENABLED", "ENABLE", "DISABLED", "DISABLE", "REQUIRED"),
        *("TTL", "TIMEOUT", "EXPIRY", "EXPIRES", "EXPIRATION", "LIFETIME", "AGE", "FORMAT", "VERSION", "PREFIX"),
        *("SUFFIX", "STORE", "STORAGE", "RING", "FINGERPRINT", "REPEAT", "DELAY", "SCOPE", "SCOPES", "HEADER", "FIELD"),
        *("COUNT", "ROTATION", "THROUGH", "RATE", "LIMIT", "LIMITS", "POLICY", "MIN", "MAX", "ROUNDS", "COST", "USER"),
        *("USERNAME", "EMAIL", "GROUP", "ROLE", "CLASS", "MODULE", "PLUGIN", "FLOW", "STRATEGY", "LEVEL", "COLUMN"),
        *("COLUMNS", "INDEX", "SCHEMA", "STATUS", "STATE", "COMMAND", "CMD", "HELPER", "AGENT", "ISSUER", "AUDIENCE"),
        *("BINDINGS", "BINDING", "CODE", "EVENT", "EVENTS", "LAYOUT", "OPTIONS", "OPTS", "ARGS", "FD", "PROMPT", "ASK"),
        *("CHECK", "RETRIES", "ATTEMPTS", "CACHE", "PROXY", "REGION", "SOURCE", "USAGE", "ALIAS", "LOG", "DEBUG"),
    }
)
_BEFORE = re.compile(
    r"(?:\A|_)(?:PUBLIC|PUB|PRIMARY|FOREIGN|SORT|PARTITION|CACHE|HOST|HOT|SHORTCUT|COMPOSE|META|MODIFIER|ROUTING|GROUPING"
    r"|ORDER|INDEX|UNIQUE|NATURAL|SURROGATE|ARROW|FUNCTION|PREFIX|KNOWN|TRUSTED|AUTHORIZED|NO|DISABLE|SKIP|USE|ALLOW"
    r"|REQUIRE|SINGLE|MULTI|ONE|TWO|BUCKET|OBJECT|S3_OBJECT|CLUSTER|SHARD|FEATURE|CONFIG|DRY_RUN|FIRST|SECOND|BUILD|TEST|BOARDING)_(?:KEYS?|PASS|AUTH)(?:_|\Z)"
)


def is_credential_name(name: str) -> bool:
    """Return whether a variable of this name holds a credential."""
    name = name.upper().replace("-", "_").replace(".", "_")
    if name in _NOT_SECRET:
        return False
    if _ANYWHERE.search(name):
        return True
    word = _WORD.search(name)
    if word is None or _BEFORE.search(name) or _ENDS_LIKE_ONE.search(name):
        return False
    return _AFTER.isdisjoint(word["rest"].split("_"))
