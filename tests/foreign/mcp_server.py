"""A server of tools, by the SDK that most of them are written with: over stdio or HTTP."""

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.responses import JSONResponse

server = MCPServer("ledger")


@server.tool(structured_output=True)
async def pay(cents: int, ctx: Context) -> dict[str, str | int]:
    """Pays so many cents."""
    key = ctx.request_context.meta["puruto/idempotency-key"]
    return {"paid": cents, "key": key}


@server.tool()
def refuse() -> str:
    """Pays nothing."""
    raise ToolError("no such account")


@server.tool()
def process() -> int:
    """Says which process this is."""
    return os.getpid()


@server.tool()
def die() -> str:
    """Ends the process."""
    os._exit(1)


@server.custom_route("/health", methods=["GET"])
async def health(_request):
    return JSONResponse({})


if sys.argv[1] == "http":
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run("stdio")
