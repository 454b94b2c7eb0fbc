"""A server with one tool and nothing else, on standard input and output: `trivial_server.py SECONDS_BEFORE_START`."""

import json
import sys
import time

SERVER = {"name": "trivial", "version": "1"}
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": SERVER},
    "tools/list": {"tools": [{"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}]},
}

time.sleep(float(sys.argv[1]))
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        known = request["method"] in RESULTS
        response = (
            {"result": RESULTS[request["method"]]} if known else {"error": {"code": -32601, "message": "unknown"}}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **response}), flush=True)
