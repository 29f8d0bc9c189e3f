"""A server of the SDK for Python: over standard input and output, or over HTTP at the port that is given."""

import sys

from mcp.server import MCPServer

server = MCPServer("sdk")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Always fail."""
    raise ValueError("it failed on purpose")


if len(sys.argv) > 1:
    server.run(transport="streamable-http", port=int(sys.argv[1]))
else:
    server.run()
