"""List programs that do not execute their arguments, so that `grep sudo` does not count as `sudo` (A11).

A program that is not in a table may execute its arguments. Interpreters, build tools and package managers are in the
list: they run the content of their files and texts, which is not examined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from codex_adapter.protocols.operations.shell.text import Word, names

__all__ = ["is_plain", "without_version"]

_VERSION = re.compile(r"(?<=[a-z])-?[0-9][0-9.]*(-static)?$|[-.](static|distrib)$")

_BUILTINS = {":"} | names(
    """
    . [ alias bg break cd chdir continue dirs disown echo exit export false fg getopts hash help history jobs kill let
    local logout popd printf pushd pwd read readonly return set shift shopt source suspend test times trap true type
    typeset ulimit umask unalias unset wait whence
    """
)
_FILES = names(
    """
7z 7za 7zr ag apropos ar arch b2sum base32 base64 basename bat batcat bunzip2 bzcat bzip2 cat chattr chgrp chmod chown
cksum clear cmp colordiff column comm cp cpio csplit curl cut date dd delta df diff diff3 dir dircolors dirname dos2unix
du egrep exa expand expr eza factor fgrep file fmt fold free getconf getent getfacl glow groups grep gunzip gzip head
hexdump hexyl host hostname iconv id info install jq join last ldd less link ln locale locate logger logname ls lsattr
lsb_release lscpu lsof lz4 man md5 md5sum mediainfo mkdir mkfifo mktemp more mv nl nm nproc ntpdate numfmt objdump od
paste patch pathchk pgrep pidof ping plocate pr printenv ps pstree ptx readelf readlink realpath rename rev rg rm rmdir
rsync sdiff sed seq sha1sum sha224sum sha256sum sha384sum sha512sum shasum shred sleep sort split ss stat strings sum
sync tac tail tar tee tldr tokei top touch tput tr tree truncate tsort tty uname unexpand uniq unix2dos unlink unrar
unxz unzip unzstd uptime users vdir w wc wget whatis whereis which who whoami xmllint xxd xz xzcat yes yq zcat zgrep zip
    zipinfo zless zstd zstdcat
    """
)
_INTERPRETERS = names(
    """
Rscript awk bun deno elixir erl gawk ghc groovy irb java jshell julia kotlin lua mawk mysql nawk node nodejs perl php
    psql pypy python python3 R ruby runghc scala sqlite sqlite3 swift ts-node tsx
    """
)
_TOOLS = names(
    """
    actionlint alembic ansible-lint ant apk apt apt-cache apt-get aptitude as autoconf autoflake automake aws az bandit
bazel black brew bundle bundler c++ c++filt cargo cc ccache celery clang clang++ clang-format clang-tidy clippy-driver
    cloc cmake codespell composer conda cookiecutter coverage cpp createdb ctags ctest cypress dbt django-admin doctest
dotnet doxygen dpkg dpkg-query dvc emcc esbuild eslint fastlane flake8 flask flit flutter fly flyctl g++ gcc gcloud gem
gh git git-lfs glab go gofmt golangci-lint gpg gradle gradlew hadolint hatch helm heroku html2text httpie hugo isort
javac javadoc jest jekyll kubectl kustomize ld lefthook lerna maturin make mamba markdownlint meson micromamba mint mix
    mkdocs mongo mongosh mvn mvnw mypy mysqladmin mysqldump netlify ng ninja notify-send npm nx nx-cloud opam openssl
    packer pandoc pdflatex pdm pdoc pip pipenv pipx playwright pnpm podman docker nerdctl docker-compose podman-compose
poetry pre-commit prettier prisma protoc pulumi pyflakes pylint pyright pytest rails rake rails-erb redis-cli rollup
rspec rubocop ruff rustc rustfmt rustup sam sbt scons serverless shellcheck shfmt sphinx-build stack stylelint supabase
svn swc systemd-analyze hg terraform tflint tofu tox tsc turbo twine uv vagrant vercel virsh vite vitest vue webpack
wrangler yamllint yarn ansible-galaxy rabbitmqctl adb amplify anchor ansible-playbook cdk changeset crystal expo fab
    firebase forge hardhat inv invoke just mage nox sls task wasm-pack zig
    """
)
_PLAIN = _BUILTINS | _FILES | _INTERPRETERS | _TOOLS
_RUNNING = {
    "ansible": (),
    "bun": ("x", "exec"),
    "bundle": ("exec",),
    "cmake": ("-E",),
    "conda": ("run",),
    "dotnet": ("exec", "tool"),
    "hatch": ("run", "env"),
    "mamba": ("run",),
    "micromamba": ("run",),
    "npm": ("exec", "x", "explore"),
    "nx": ("exec",),
    "lerna": ("exec",),
    "opam": ("exec",),
    "pdm": ("run",),
    "pipenv": ("run",),
    "pipx": ("run",),
    "pnpm": ("exec", "dlx"),
    "poetry": ("run",),
    "stack": ("exec",),
    "swift": ("run",),
    "uv": ("run", "tool"),
    "vagrant": ("ssh",),
    "yarn": ("exec", "dlx", "run"),
}
"""Subcommands and options with which such a program executes its arguments."""


_STARTERS = frozenset({"bunx", "npx", "pnpx"})
"""Programs that run the program of their first operand."""


def without_version(program: str) -> str:
    """Return the name of a program without a version or `-static`: `zsh-5.9` is `zsh`, `ksh93` is `ksh`."""
    return _VERSION.sub("", program) or program


def is_plain(words: Sequence[Word]) -> bool:
    """Return whether the program of a command is known not to execute its arguments (A11)."""
    program = words[0].program or ""
    if program in _STARTERS:
        first = next((index for index, word in enumerate(words) if index and not word.may_be_an_option), None)
        return first is not None and is_plain(words[first:])
    name = program if program in _PLAIN else without_version(program)
    running = _RUNNING.get(name, ())
    return name in _PLAIN and not any(word.text in running for word in words[1:4])
