"""Test that the types of the TypeScript client match the schema, and its compiled files match the source.

The `README.md` of the client shows the command that compiles it.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ..needs import missing

pytestmark = pytest.mark.rule("J18")

HERE = Path(__file__).parents[2] / "clients" / "typescript"
STRICT = ("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noEmit")
CONSUMER = """
import { run, openDaemon, AdapterError, BackendError } from "./codex-adapter.mjs";
import type { CompletedRecord, Hint, JournalRecord } from "./codex-adapter.mjs";

const button = new AbortController();
const [env, labels] = [{ A: "b" }, { task: "12" }];
const r = run("x", { working_dir: "/", timeout: 9, env, labels, signal: button.signal, args: ["--model", "m"] });
for await (const event of r) {
  if (event.kind === "tool_result" && event.data && "tool" in event.data) event.data.tool.exit_code?.toFixed();
  if (event.data && "schema" in event.data && event.data.schema === "codex_adapter.plan.v1") event.data.items[0]?.text;
}
try {
  const { final_text, turn, status }: CompletedRecord = await r.completion;
  const text: string | undefined = final_text;
} catch (error) {
  if (error instanceof BackendError) { const hint: Hint | undefined = error.hint; }
  if (!(error instanceof AdapterError)) throw error;
}
await using daemon = await openDaemon({ args: ["--journal", "runs"], cwd: "/", environment: process.env });
const records: JournalRecord[] = [];
for await (const record of daemon.replay("a", 3)) records.push(record);
await Promise.all(["a", "b"].map((prompt) => daemon.run(prompt, { runId: prompt }).completion));
// @ts-expect-error: the request has no such field
daemon.run("x", { workingDir: "/" });
// @ts-expect-error: no such mode
await daemon.shutdown("later");
"""


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """The generator, which is a program outside of every package."""
    spec = importlib.util.spec_from_file_location("generate_typescript", HERE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tsc(generate: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiler, from npm."""
    npm, place = shutil.which("npm"), tmp_path_factory.mktemp("compiler")
    if npm is None or shutil.which("node") is None:
        missing("node")
    install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place)]
    try:
        done = subprocess.run(
            [*install, *generate.COMPILER], cwd=place, capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        missing("npm")
    if done.returncode:
        missing("npm")
    return str(place / "node_modules" / ".bin" / "tsc")


def test_the_types_are_those_of_the_schema(generate: ModuleType) -> None:
    command = [sys.executable, "-m", "codex_adapter", "schema"]
    schema = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    source = generate.SOURCE.read_text()
    again = "run: python clients/typescript/generate.py --tsc PATH"
    assert source == generate.with_types(source, generate.types(schema)), again


def test_the_compiled_files_name_the_source_that_they_are_of(generate: ModuleType) -> None:
    first = generate.digest(generate.SOURCE.read_text())
    again = "run: python clients/typescript/generate.py --tsc PATH"
    assert [(HERE / name).read_text().partition("\n")[0] + "\n" for name in generate.ARTEFACTS] == [first] * 2, again


# The files name the source that they are of, which every change checks.
@pytest.mark.nightly
def test_the_compiler_makes_the_compiled_files_of_the_source(generate: ModuleType, tsc: str) -> None:
    made = generate.compiled(generate.SOURCE.read_text(), tsc)
    assert made == {name: (HERE / name).read_text() for name in generate.ARTEFACTS}


def test_a_strict_program_compiles_against_the_declarations(tsc: str) -> None:
    place = Path(tsc).parents[2] / "program"
    place.mkdir()
    shutil.copy(HERE / "codex-adapter.d.mts", place)
    (place / "program.mts").write_text(CONSUMER)
    options = [*STRICT, "--target", "es2022", "--lib", "es2022,esnext.disposable", "--module", "nodenext"]
    done = subprocess.run(
        [tsc, *options, "--types", "node", "program.mts"], cwd=place, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_schema_that_the_generator_does_not_know_is_refused(generate: ModuleType) -> None:
    definitions = {name: {"type": "object", "patternProperties": {}} for name in generate.ROOTS}
    with pytest.raises(ValueError, match=r"patternProperties.*generate\.py"):
        generate.types({"$defs": definitions})
