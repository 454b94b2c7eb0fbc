"""The least that a client can do: start a server, shake hands, list its tools, print them, end the server."""

import asyncio
import json
import sys


async def main() -> None:
    server = await asyncio.create_subprocess_exec(
        *sys.argv[1:], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    if server.stdin is None or server.stdout is None:
        raise SystemExit("no pipes")
    write, readline = server.stdin.write, server.stdout.readline

    async def request(number: int, method: str, params: object) -> object:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        write(json.dumps(message).encode() + b"\n")
        return json.loads(await readline())

    client = {"name": "bench", "version": "1"}
    await request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
    write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    print(json.dumps(await request(2, "tools/list", {}), indent=2))
    server.stdin.close()
    await server.wait()


asyncio.run(main())
