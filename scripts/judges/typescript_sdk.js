// Lists every catalog with the client of the MCP TypeScript SDK 1.x.
// Reads [{tools: [...]}] from stdin, writes [{list: REASON?, tools: {}}] to stdout; argv[2] is the npm folder.
"use strict";
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const load = createRequire(`${process.argv[2]}/`);
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { InMemoryTransport } = load("@modelcontextprotocol/sdk/inMemory.js");

async function listed(tools) {
  const [mine, theirs] = InMemoryTransport.createLinkedPair();
  theirs.onmessage = ({ id, method }) => {
    const results = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
      "tools/list": { tools },
    };
    if (id !== undefined) theirs.send({ jsonrpc: "2.0", id, result: results[method] ?? {} });
  };
  await theirs.start();
  const client = new Client({ name: "judge", version: "1" });
  await client.connect(mine);
  try {
    await client.listTools();
    return { tools: {} };
  } catch (error) {
    return { list: String(error.message).slice(0, 300), tools: {} };
  } finally {
    await client.close();
  }
}

(async () => {
  const verdicts = [];
  for (const { tools } of JSON.parse(readFileSync(0, "utf8"))) verdicts.push(await listed(tools));
  process.stdout.write(JSON.stringify(verdicts));
})();
