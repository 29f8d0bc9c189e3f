"""Calls tools of a server with the SDK for Python, and prints what came of it as JSON."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

MODE, CALLS, COMMAND, ARGS = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4:]


async def main():
    server = StdioServerParameters(command=COMMAND, args=ARGS, env=dict(os.environ))
    async with Client(stdio_client(server), mode=MODE) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = []
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            text = "".join(block.text for block in result.content)
            results.append({"text": text, "error": bool(result.is_error)})
        seen = {"version": client.protocol_version, "tools": tools, "results": results}
        print(json.dumps(seen))


asyncio.run(main())
