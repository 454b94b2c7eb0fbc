// Validates every input schema with VS Code's JSON language service, against draft-07 as VS Code does for MCP tools.
// Reads [{tools: [...]}] from stdin, writes [{tools: {INDEX: REASON}, unjudged: [INDEX]}] to stdout.
// argv[2] is the npm folder. A tool without a schema is not judged.
"use strict";
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const { getLanguageService, TextDocument } = createRequire(`${process.argv[2]}/`)("vscode-json-languageservice");

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const ADDRESS = "vscode://schemas/temp/tool.json";
const service = getLanguageService({ schemaRequestService: (uri) => Promise.reject(`not loaded: ${uri}`) });
service.configure({ validate: true, schemas: [{ uri: DRAFT_07, fileMatch: [ADDRESS] }] });

async function problems(schema) {
  const document = TextDocument.create(ADDRESS, "json", 1, JSON.stringify(schema));
  return service.doValidation(document, service.parseJSONDocument(document));
}

(async () => {
  const verdicts = [];
  for (const { tools } of JSON.parse(readFileSync(0, "utf8"))) {
    const refused = {}, unjudged = [];
    for (const [index, tool] of tools.entries()) {
      if (tool?.inputSchema === undefined) {
        unjudged.push(index);
        continue;
      }
      const found = await problems(tool.inputSchema);
      if (found.length > 0) refused[index] = found[0].message;
    }
    verdicts.push({ tools: refused, unjudged });
  }
  process.stdout.write(JSON.stringify(verdicts));
})();
