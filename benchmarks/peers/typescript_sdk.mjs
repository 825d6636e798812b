// Runs an agent once through @openai/codex-sdk and prints how many events it gave, and why it gave up if it did.
import { Codex } from "@openai/codex-sdk";

const [agent] = process.argv.slice(2);
let count = 0;
let failure = "";
try {
  const thread = new Codex({ codexPathOverride: agent }).startThread({ skipGitRepoCheck: true });
  const { events } = await thread.runStreamed("x");
  for await (const _ of events) count += 1;
} catch (error) {
  failure = error.cause?.name ?? error.name;
}
process.stdout.write(`${count} ${failure}\n`, () => process.exit(0));
