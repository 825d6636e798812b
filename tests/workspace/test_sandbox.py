"""Test the sandbox with real attempts to reach, change or see what it forbids."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from codex_adapter.agents import known_places
from codex_adapter.workspace import Workspace, WorkspaceError
from codex_adapter.workspace.sandbox import Sandbox
from codex_adapter.workspace.secret_places import list_secret_places

from ..needs import missing
from .shells import Shell

pytestmark = pytest.mark.rule("H13")

SECRET = "not to be seen"


@pytest.fixture
def visible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory beside the workspace that the sandbox shows: that of the tests is in /tmp, which it empties."""
    monkeypatch.setattr("codex_adapter.workspace.sandbox._EMPTIED", ("/run", "/var/run"))
    directory = tmp_path.resolve() / "visible"
    directory.mkdir()
    return directory


@pytest.fixture
def emptied() -> Iterator[Path]:
    """A directory in one that the sandbox empties."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory).resolve()


@pytest.fixture
def python() -> str:
    """A Python that the sandbox shows."""
    program = os.path.realpath(sys.executable)
    if program.startswith(("/tmp/", "/run/", "/var/tmp/")):
        missing("system")
    return program


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server of this machine, on the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


async def test_the_workspace_is_written_to_as_ever(sandboxed: Shell, root: Path) -> None:
    await sandboxed.output("mkdir made; echo text >made/file; mv made/file made/renamed; chmod 600 made/renamed")
    assert (root / "made" / "renamed").read_text() == "text\n"


@pytest.mark.parametrize(
    "attempt",
    [
        "echo changed >{visible}/file",
        "rm {visible}/file",
        "mv {visible}/file moved",
        "touch {visible}/new",
        "chmod 777 {visible}/file",
        "mkdir ../new",
        "mv ../root ../moved",
        "rmdir ../root",
        "touch /etc/new",
        "touch /new",
        "touch {home}/new",
        "ln {visible}/file hard",
        "ln -s {visible}/file link && echo changed >link",
        "cd / && touch new",
        "touch /proc/1/root{visible}/new",
        "touch /proc/self/root{visible}/new",
        "echo x >/proc/sys/kernel/hostname",
        "cat /proc/sys/kernel/core_pattern >/proc/sys/kernel/core_pattern",
        "cat /proc/1/root/proc/sys/vm/swappiness >/proc/1/root/proc/sys/vm/swappiness",
        "echo x >/sys/kernel/uevent_helper",
        "echo x >/proc/sysrq-trigger",
    ],
)
@pytest.mark.fault(
    "workspace", "A sandboxed command writes outside the workspace by various means", "Every attempt fails"
)
async def test_nothing_outside_is_changed(sandboxed: Shell, visible: Path, root: Path, attempt: str) -> None:
    (visible / "file").write_text("as it was")
    (visible / "file").chmod(0o644)
    result = await sandboxed(attempt.format(visible=visible, home=Path.home()))
    assert result.exit_code != 0
    assert [path.name for path in visible.iterdir()] == ["file"]
    assert (visible / "file").read_text() == "as it was"
    assert (visible / "file").stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in root.parent.iterdir()) == ["root", "visible"]
    assert not Path("/etc/new").exists()


async def test_the_machine_can_be_read(sandboxed: Shell, visible: Path) -> None:
    (visible / "file").write_text("readable")
    assert await sandboxed.output(f"cat {visible}/file") == "readable"


@pytest.mark.parametrize(
    "attempt",
    [
        "mount -t tmpfs none /mnt",
        "mount -o remount,rw /",
        "mount --bind / /mnt",
        "umount /tmp",
        "umount -l /run",
        "chroot / true",
        "unshare -Ur true",
        "unshare -Urm mount -t tmpfs none /mnt",
        "unshare -n true",
        "nsenter -t 1 -m true",
        "mknod device c 1 3",
        "chown 1:1 file",
        "hostname changed",
        "kill -0 {adapter}",
        "kill -KILL {adapter}",
        "readlink /proc/{adapter}/exe",
        "su -c true",
        "ls /proc/1/root/proc/{adapter}",
    ],
)
@pytest.mark.fault("workspace", "A sandboxed command tries to gain privileges", "It gains none")
async def test_there_are_no_rights_to_be_had(sandboxed: Shell, root: Path, attempt: str) -> None:
    assert sandboxed.sandbox is not None
    if not sandboxed.sandbox.strict and attempt.startswith("unshare -U"):
        missing("bubblewrap")
    (root / "file").touch()
    # A process id that is too large to be given out in a namespace that is so young.
    assert os.getpid() > 30
    assert (await sandboxed(attempt.format(adapter=os.getpid()))).exit_code != 0


async def test_there_are_no_capabilities_and_none_can_be_gained(sandboxed: Shell) -> None:
    status = await sandboxed.output("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    values = {name: int(value, 16) for name, value in (line.split(":") for line in status.splitlines())}
    assert values.pop("NoNewPrivs") == 1
    assert set(values.values()) == {0}


async def test_other_processes_are_invisible(sandboxed: Shell) -> None:
    other = subprocess.Popen(["sleep", "61.25"])  # noqa: ASYNC220 - it is only there to be looked for
    try:
        listed = await sandboxed.output("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls -d /proc/[0-9]* | wc -l")
    finally:
        other.kill()
        other.wait()
    assert "61.25" not in listed
    assert int(listed.split()[-1]) < 8


async def test_devices_are_the_harmless_ones(sandboxed: Shell) -> None:
    listed = await sandboxed.output("cd /dev; find . -type b -o -type c | sort | tr '\\n' ' '")
    assert set(listed.split()) <= {
        f"./{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "console", "pts/ptmx")
    }
    assert await sandboxed.output("touch /dev/shm/file && ls /dev/shm") == "file\n"
    assert not Path("/dev/shm/file").exists()


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "$TMPDIR", "/run"])
async def test_temporary_files_are_the_commands_own_and_gone_with_it(sandboxed: Shell, place: str) -> None:
    name = f"left-by-a-command-{os.getpid()}"
    assert await sandboxed.output(f"touch {place}/{name}; ls -A {place} | grep left") == f"{name}\n"
    assert await sandboxed.output(f"ls -A {place} | grep -c left || true") == "0\n"
    assert not any(Path(directory, name).exists() for directory in ("/tmp", "/var/tmp", "/run"))


async def test_a_workspace_in_tmp_is_shown_and_nothing_beside_it(sandboxed: Shell, emptied: Path) -> None:
    (emptied / "own").mkdir()
    (emptied / "beside").touch()
    with Workspace(emptied / "own", agents=known_places()) as opened:
        sandboxed.workspace = opened
        assert await sandboxed.output("touch made; ls ..; pwd") == f"own\n{emptied}/own\n"
    assert (emptied / "own" / "made").exists()


# --- network ---------------------------------------------------------------------------------------------------------

CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 10).close()"
CONNECT_UNIX = "import socket; socket.socket(socket.AF_UNIX).connect({address!r})"


@pytest.mark.fault(
    "workspace",
    "A sandboxed command connects to a server",
    "The connection fails unless the command has network access",
)
async def test_the_network_is_there_only_when_it_was_given(
    sandboxed: Shell, python: str, listener: socket.socket
) -> None:
    script = CONNECT.format(port=listener.getsockname()[1])
    command = f'{python} -I -c "{script}"'
    assert (await sandboxed(command)).exit_code == 1
    assert (await sandboxed(command, network=True)).exit_code == 0


async def test_abstract_sockets_belong_to_the_network(sandboxed: Shell, python: str) -> None:
    address = f"\0codex-adapter-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        command = f'{python} -I -c "{CONNECT_UNIX.format(address=address)}"'
        assert (await sandboxed(command)).exit_code == 1
        assert (await sandboxed(command, network=True)).exit_code == 0


async def test_sockets_in_tmp_are_hidden_and_those_elsewhere_are_not(
    sandboxed: Shell, python: str, emptied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = str(emptied / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        command = f'{python} -I -c "{CONNECT_UNIX.format(address=address)}"'
        assert (await sandboxed(command)).exit_code == 1
        monkeypatch.setattr("codex_adapter.workspace.sandbox._EMPTIED", ())
        assert (await sandboxed(command)).exit_code == 0


async def test_names_are_asked_for_where_the_machine_asks(sandboxed: Shell) -> None:
    settings = Path("/etc/resolv.conf")
    if not settings.exists():
        missing("system")
    result = await sandboxed("cat /etc/resolv.conf", network=True)
    assert result.stdout.head == settings.read_bytes()


def test_where_names_are_asked_for_is_shown_where_it_would_be_covered(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.path.realpath
    monkeypatch.setattr("os.path.realpath", lambda path: "/run/x/conf" if path == "/etc/resolv.conf" else real(path))
    argv = sandbox.argv("/w", "/w", network=True)
    at = argv.index("/run/x/conf")
    assert argv[at - 1 : at + 2] == ["--ro-bind-try", "/run/x/conf", "/run/x/conf"]
    assert at > argv.index("/run")
    assert "/run/x/conf" not in sandbox.argv("/w", "/w", network=False)


# --- what lies in the workspace afterwards ---------------------------------------------------------------------------


@pytest.mark.rule("H1", "H3")
@pytest.mark.parametrize(
    ("command", "path", "code"),
    [
        ("ln -s /etc/passwd x", "x", "outside"),
        ("ln -s ../../../../../../etc/passwd x", "x", "outside"),
        ("ln -s /etc x", "x/passwd", "outside"),
        ("ln -s /proc/self/root/etc/passwd x", "x", "outside"),
        ("mkfifo x", "x", "not_a_file"),
        ("echo text >y; ln y x", "x", "hard_linked"),
    ],
)
@pytest.mark.fault(
    "workspace", "A command leaves a link to outside or a FIFO in the workspace", "No file operation follows it"
)
async def test_what_a_command_leaves_leads_nobody_out(
    sandboxed: Shell, workspace: Workspace, command: str, path: str, code: str
) -> None:
    await sandboxed.output(command)
    with pytest.raises(WorkspaceError) as caught:
        workspace.read(path, limit=1_000_000)
    assert caught.value.code == code


async def test_a_set_id_program_gives_nothing_in_the_sandbox(sandboxed: Shell) -> None:
    assert await sandboxed.output("cp /bin/sh own; chmod 6755 own; ./own -c 'grep CapEff /proc/self/status'") == (
        "CapEff:\t0000000000000000\n"
    )


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("H14")
@pytest.mark.fault("workspace", "A sandboxed command reads the user's keys", "It finds empty directories and files")
async def test_the_places_of_secrets_are_empty(sandboxed: Shell, sandbox: Sandbox, visible: Path) -> None:
    environ = {"HOME": str(visible), "CODEX_HOME": str(visible / "codex home")}
    kinds = {".ssh": "id", ".config/gh": "hosts.yml", ".codex": "auth.json", "codex home": "auth.json", ".aws": "x"}
    for directory, name in kinds.items():
        (visible / directory).mkdir(parents=True)
        (visible / directory / name).write_text(SECRET)
    (visible / ".netrc").write_text(SECRET)
    (visible / "elsewhere").mkdir()
    (visible / "elsewhere" / "key").write_text(SECRET)
    (visible / ".gnupg").symlink_to("elsewhere")
    (visible / ".kube").symlink_to("nowhere")
    (visible / "shown").write_text("shown")
    sandboxed.sandbox = msgspec.structs.replace(sandbox, hidden=list_secret_places(environ, known_places()))
    command = f"cd {visible}; grep -rs . . ; cat .netrc; ls -A .ssh .gnupg/; true"
    assert (await sandboxed(command)).stdout.text() == "./shown:shown\n.gnupg/:\n\n.ssh:\n"
    await sandboxed.output(f"echo x >{visible}/.netrc; echo x >{visible}/.ssh/id")
    assert (visible / ".netrc").read_text() == (visible / ".ssh" / "id").read_text() == SECRET


@pytest.mark.rule("H14")
async def test_the_workspace_is_shown_inside_a_place_that_is_hidden(
    sandboxed: Shell, sandbox: Sandbox, visible: Path, root: Path
) -> None:
    (visible / "key").write_text(SECRET)
    (root / "file").write_text("own")
    sandboxed.sandbox = msgspec.structs.replace(sandbox, hidden=(str(root.parent), str(root)))
    assert await sandboxed.output("cat file; ls -A ..; touch made") == "ownroot\n"
    assert (root / "made").exists()


@pytest.mark.rule("H14")
async def test_a_secret_inside_the_workspace_is_hidden_too(sandboxed: Shell, sandbox: Sandbox, root: Path) -> None:
    (root / ".ssh").mkdir()
    (root / ".ssh" / "id").write_text(SECRET)
    (root / ".netrc").write_text(SECRET)
    sandboxed.sandbox = msgspec.structs.replace(sandbox, hidden=list_secret_places({"HOME": str(root)}, known_places()))
    assert await sandboxed.output("cat .netrc; ls -A .ssh; echo x >.ssh/id; echo x >.netrc; rm -f .ssh/id") == ""
    assert (root / ".netrc").read_text() == (root / ".ssh" / "id").read_text() == SECRET


PLACES = (
    *(".asp/state/sessions/x/codex/config.toml", ".codex/auth.json", ".claude.json", ".claude/.credentials.json"),
    *(".gemini/oauth_creds.json", ".config/github-copilot/hosts.json", ".cache/huggingface/token", ".m2/settings.xml"),
    *(".gradle/gradle.properties", ".config/pip/pip.conf", ".pip/pip.conf", ".composer/auth.json", ".s3cfg", ".boto"),
    *(".config/sops/age/keys.txt", ".databrickscfg", ".yarnrc.yml", ".bash_history", ".zsh_history", ".python_history"),
    *(".psql_history", ".mysql_history", ".node_repl_history", ".local/share/fish/fish_history", ".netrc", ".pgpass"),
    *(".my.cnf", ".docker/config.json", ".kube/config", ".aws/credentials", ".azure/x", ".config/gcloud/x"),
    *(".config/gh/hosts.yml", ".npmrc", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml"),
    *(".terraform.d/credentials.tfrc.json", ".vault-token", ".gnupg/x", ".ssh/id", ".password-store/x"),
    *(".local/share/keyrings/x", ".mozilla/firefox/x", ".config/google-chrome/x", ".config/chromium/x", ".config/op/x"),
    *(".pulumi/credentials.json", ".fly/config.yml", ".config/hub", ".config/glab-cli/config.yml", ".git-credentials"),
    *(".config/git/credentials", ".wgetrc", ".curlrc", ".subversion/auth/x", ".lesshst", ".viminfo", ".env"),
)
NAMED = {
    **{"AWS_SHARED_CREDENTIALS_FILE": "n/aws", "GOOGLE_APPLICATION_CREDENTIALS": "n/google", "NETRC": "n/netrc"},
    **{"PGPASSFILE": "n/pgpass", "DOCKER_CONFIG": "n/docker/x", "CARGO_HOME": "n/cargo/credentials.toml"},
    **{"NPM_CONFIG_USERCONFIG": "n/npmrc", "GNUPGHOME": "n/gnupg/x", "ASP_HOME": "n/asp/x", "CODEX_HOME": "n/codex/x"},
    **{"XDG_CONFIG_HOME": "n/config/gh/hosts.yml", "XDG_DATA_HOME": "n/data/keyrings/x", "HISTFILE": "n/history"},
    **{"KRB5CCNAME": "n/krb5", "HF_HOME": "n/hf/token"},
}
BASES = {"CARGO_HOME": 1, "HF_HOME": 1, "XDG_CONFIG_HOME": 2, "XDG_DATA_HOME": 2, "DOCKER_CONFIG": 1, "GNUPGHOME": 1}
BASES |= {"ASP_HOME": 1, "CODEX_HOME": 1}
"""How many of the names lie below the directory that the variable names."""


@pytest.mark.rule("H14")
@pytest.mark.fault("workspace", "A sandboxed command reads the keys of well-known programs", "It finds none of them")
async def test_the_well_known_places_are_hidden(sandboxed: Shell, sandbox: Sandbox, visible: Path) -> None:
    shown = (
        ".cargo/bin/cargo",
        ".gitconfig",
        ".local/bin/tool",
        ".npm/x",
        ".m2/repository/x",
        "n/cargo/bin/x",
        ".bashrc",
    )
    secrets = (*PLACES, *NAMED.values(), "n/kube1", "n/kube2")
    for name in (*secrets, *shown):
        (visible / name).parent.mkdir(parents=True, exist_ok=True)
        (visible / name).write_text(SECRET if name in secrets else "shown")
    environ = {"HOME": str(visible), "KUBECONFIG": f"{visible}/n/kube1:{visible}/n/kube2"}
    for variable, name in NAMED.items():
        place = visible / name
        environ[variable] = str(place.parents[BASES[variable] - 1] if variable in BASES else place)
    environ["KRB5CCNAME"] = f"FILE:{visible}/n/krb5"
    sandboxed.sandbox = msgspec.structs.replace(sandbox, hidden=list_secret_places(environ, known_places()))
    read = await sandboxed(f"cd {visible}; cat {' '.join(secrets)}; grep -rsl . .")
    assert SECRET not in read.stdout.text()
    assert sorted(read.stdout.text().split()) == sorted(f"./{name}" for name in shown)


@pytest.mark.rule("H14")
def test_without_a_home_only_what_is_named_is_hidden() -> None:
    assert list_secret_places({}, known_places()) == ()
    assert list_secret_places({"HOME": "/home/u", "CODEX_SQLITE_HOME": "/x"}, ())[-1] == "/home/u/.env"
    found = list_secret_places({"HOME": "/home/u", "CODEX_SQLITE_HOME": "/x"}, known_places())
    assert {"/home/u/.codex", "/home/u/.claude", "/x"} < set(found)
    assert list_secret_places({"CODEX_HOME": "/x"}, known_places()) == ("/x",)
    assert "/home/u/.ssh" in list_secret_places({"HOME": "/home/u"}, known_places())


# --- which workspaces ------------------------------------------------------------------------------------------------


async def test_a_workspace_behind_a_link_is_found(sandboxed: Shell, tmp_path: Path, root: Path) -> None:
    (tmp_path / "link").symlink_to("root")
    with Workspace(tmp_path / "link", agents=known_places()) as opened:
        sandboxed.workspace = opened
        assert await sandboxed.output("touch made; pwd") == f"{root}\n"
    assert (root / "made").exists()


async def test_the_whole_machine_is_no_workspace_for_a_sandbox(sandboxed: Shell) -> None:
    with Workspace("/", agents=known_places()) as opened:
        sandboxed.workspace = opened
        with pytest.raises(WorkspaceError) as caught:
            await sandboxed("true", cwd="usr")
    assert (caught.value.code, caught.value.system) == ("denied", False)
