"""List the usual places of a person's secrets, which a sandbox hides (H14)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import escape, glob
from typing import Final

from codex_adapter.agent_places import AgentPlaces

__all__ = ["list_secret_places"]

_HOME: Final = (
    # this program, and agent CLIs that it does not run
    *(".asp", ".claude", ".claude.json", ".gemini", ".cursor", ".aider.conf.yml", ".continue", ".pi"),
    *(".config/github-copilot", ".config/goose", ".config/opencode", ".local/share/opencode", ".config/amp", ".qwen"),
    # login by key or password
    *(
        ".ssh",
        ".gnupg",
        ".netrc",
        ".authinfo",
        ".authinfo.gpg",
        ".pgpass",
        ".my.cnf",
        ".mylogin.cnf",
        ".password-store",
    ),
    *(".config/sops", ".config/age", ".config/op", ".config/Bitwarden CLI", ".vault-token", ".wgetrc", ".curlrc"),
    *(".subversion/auth", ".lftprc", ".local/share/lftp", ".smbcredentials", ".msmtprc", ".fetchmailrc", ".muttrc"),
    *(".config/rclone", ".config/filezilla", ".config/remmina", ".config/hub", ".config/gh", ".config/glab-cli"),
    *(".config/tea", ".git-credentials", ".config/git/credentials", ".gitcookies", ".rhosts"),
    # clouds
    *(".aws", ".azure", ".oci", ".aliyun", ".bluemix", ".boto", ".s3cfg", ".kube", ".docker", ".terraform.d"),
    *(
        ".terraformrc",
        ".pulumi",
        ".fly",
        ".vercel",
        ".netlify",
        ".wrangler",
        ".databrickscfg",
        ".snowsql",
        ".snowflake",
    ),
    *(".config/gcloud", ".config/doctl", ".config/hcloud", ".config/scw", ".config/heroku", ".config/netlify"),
    *(
        ".config/stripe",
        ".config/containers/auth.json",
        ".config/.wrangler",
        ".config/configstore",
        ".config/linode-cli",
    ),
    *(
        ".local/share/com.vercel.cli",
        ".config/argocd",
        ".config/helm",
        ".config/ngrok",
        ".ngrok2",
        ".config/cloudflared",
    ),
    *(
        ".cloudflared",
        ".expo",
        ".railway",
        ".config/fly",
        ".config/supabase",
        ".supabase",
        ".config/doppler",
        ".doppler",
    ),
    *(".sentryclirc", ".config/sentry", ".circleci", ".travis", ".jira.d", ".config/.jira", ".config/slack"),
    # registries of packages and models
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pnpm/rc", ".bunfig.toml", ".pypirc", ".pip", ".config/pip"),
    *(".config/uv", ".local/share/uv/credentials", ".config/pypoetry", ".condarc", ".continuum", ".cargo/credentials"),
    *(".cargo/credentials.toml", ".gem/credentials", ".local/share/gem/credentials", ".bundle/config"),
    *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/credentials"),
    *(".ivy2/.credentials", ".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet/NuGet.Config"),
    *(
        ".config/NuGet",
        ".hex/hex.config",
        ".cabal/config",
        ".cache/huggingface/token",
        ".cache/huggingface/stored_tokens",
    ),
    *(".huggingface", ".kaggle", ".config/kaggle", ".config/wandb", ".config/openai", ".config/anthropic"),
    # histories of commands
    *(".*_history", ".*history", ".lesshst", ".viminfo", ".local/share/fish/fish_history", ".local/state/*/*history*"),
    *(".config/*/*history*", ".ipython/profile_*/history.sqlite*", ".config/fish/fish_variables"),
    # key stores, browsers, mail and messages
    *(".local/share/keyrings", ".local/share/kwalletd", ".pki", ".config/keepassxc", ".mozilla", ".thunderbird"),
    *(
        ".config/google-chrome*",
        ".config/chromium",
        ".config/BraveSoftware",
        ".config/microsoft-edge*",
        ".config/vivaldi",
    ),
    *(".config/opera", ".cache/mozilla", ".cache/google-chrome", ".cache/chromium", "snap/firefox", "snap/chromium"),
    *(
        ".var/app",
        ".config/discord",
        ".config/Slack",
        ".config/Signal",
        ".local/share/TelegramDesktop",
        ".config/evolution",
    ),
    *(".config/Code/User/globalStorage", ".config/Cursor", ".config/JetBrains", ".config/gh-copilot"),
    ".env",
)
"""Paths below HOME; `*` matches any text within a name. Paths below `.config`, `.local/share`, `.local/state` and
`.cache` are also searched in the directories of the XDG variables."""

_XDG: Final = {
    ".config": "XDG_CONFIG_HOME",
    ".local/share": "XDG_DATA_HOME",
    ".local/state": "XDG_STATE_HOME",
    ".cache": "XDG_CACHE_HOME",
}

_NAMING: Final = (
    *("ASP_HOME", "CLAUDE_CONFIG_DIR"),
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "BOTO_CONFIG"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "OCI_CLI_CONFIG_FILE", "KUBECONFIG"),
    *("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "TF_CLI_CONFIG_FILE", "PULUMI_HOME", "DATABRICKS_CONFIG_FILE"),
    *("NETRC", "PGPASSFILE", "PGSERVICEFILE", "WGETRC", "GNUPGHOME", "SSH_AUTH_SOCK", "PASSWORD_STORE_DIR"),
    *("SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE", "KRB5CCNAME", "KRB5_CLIENT_KTNAME", "BW_DATA_DIR"),
    *("NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "HF_TOKEN_PATH"),
    *("KAGGLE_CONFIG_DIR", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR", "RCLONE_CONFIG", "HISTFILE", "PYTHON_HISTORY"),
    *("NODE_REPL_HISTORY", "PSQL_HISTORY", "MYSQL_HISTFILE", "SQLITE_HISTORY", "LESSHISTFILE"),
    *("DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY"),
)
"""Variables whose value is the path of a place with secrets."""

_NAMING_AROUND: Final = {
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "HF_HOME": ("token", "stored_tokens"),
    "GRADLE_USER_HOME": ("gradle.properties",),
    "COMPOSER_HOME": ("auth.json",),
    "CURL_HOME": (".curlrc",),
    "BUNDLE_USER_HOME": ("config",),
}
"""Variables whose value is a directory with places of secrets, by their names there, and with files that commands
need."""

_SCHEMES: Final = ("file:", "FILE:", "unix:path=")


def list_secret_places(environ: Mapping[str, str], agents: Sequence[AgentPlaces]) -> tuple[str, ...]:
    """Return the well-known places below `HOME`, the places that variables name, and the places of `agents` (H14).

    The paths are absolute. A path from a pattern exists; another path may not exist.
    """
    names = (*_HOME, *(name for agent in agents for name in agent.logins))
    variables = (*_NAMING, *(variable for agent in agents for variable in agent.variables))
    found = (*_list_below_home(environ, names), *_list_named(environ, variables))
    return tuple(dict.fromkeys(os.path.abspath(path) for path in found))  # noqa: PTH100


def _list_below_home(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    home = environ.get("HOME")
    if home:
        for name in names:
            yield from _match(home, name)
    for place, variable in _XDG.items():
        base = environ.get(variable)
        if base and base.startswith("/"):
            for name in names:
                if name.startswith(f"{place}/"):
                    yield from _match(base, name.removeprefix(f"{place}/"))


def _match(base: str, name: str) -> list[str]:
    # The paths are strings, because they may have any character.
    return glob(f"{escape(base)}/{name}") if "*" in name else [f"{base}/{name}"]  # noqa: PTH207


def _list_named(environ: Mapping[str, str], variables: Iterable[str]) -> Iterator[str]:
    for variable in variables:
        value = environ.get(variable, "")
        for part in value.split(":") if variable == "KUBECONFIG" else (value,):
            place = part
            for scheme in _SCHEMES:
                place = place.removeprefix(scheme)
            place = place.partition(",")[0]
            # A value with another scheme does not name a file.
            if place.startswith("/") or (place and ":" not in place):
                yield place
    for variable, names in _NAMING_AROUND.items():
        if directory := environ.get(variable):
            yield from (f"{directory}/{name}" for name in names)
