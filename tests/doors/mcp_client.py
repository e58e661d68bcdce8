"""Asks gateways as the official SDK of the Model Context Protocol does, and prints what came.

Arguments: a JSON object {"urls", "headers", "mode", "do", "tool", "arguments"}, and "authority", a file,
where certificates are to be trusted that it vouches for. With several urls, each request goes to the
next of them.
"""

import itertools
import json
import ssl
import sys

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

asked = json.loads(sys.argv[1])


class InTurn(httpx2.AsyncHTTPTransport):
    """Sends each request to the next gateway."""

    urls = itertools.cycle(httpx2.URL(url) for url in asked["urls"])

    async def handle_async_request(self, request):
        next_one = next(self.urls)
        request.url = request.url.copy_with(port=next_one.port)
        request.headers["host"] = f"{next_one.host}:{next_one.port}"
        return await super().handle_async_request(request)


def written(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def listed(client):
    tools = await client.list_tools()
    return {"version": client.protocol_version, "tools": written(tools)["tools"]}


async def called(client):
    progress = []

    async def told(number, _total, message):
        progress.append([number, message])

    callback = told if asked.get("progress", True) else None
    try:
        result = await client.call_tool(
            asked["tool"], asked["arguments"], progress_callback=callback
        )
    except MCPError as error:
        return {"error": {"code": error.error.code, "message": error.error.message}}
    return {"progress": progress, "result": written(result)}


async def cancelled(client):
    """Gives up on a call once it runs, and stays."""
    progress = []
    with anyio.CancelScope() as scope:

        async def told(_number, _total, message):
            progress.append(message)
            if message == "running":
                scope.cancel()

        await client.call_tool(asked["tool"], asked["arguments"], progress_callback=told)
    print(json.dumps(progress[0]), flush=True)
    await anyio.sleep_forever()


async def begun(client):
    """Says of its call what it is told first, and goes on."""

    async def told(number, _total, message):
        if number == 1:
            print(json.dumps(message), flush=True)

    await client.call_tool(asked["tool"], asked["arguments"], progress_callback=told)


async def main():
    doing = {"list": listed, "call": called, "cancel": cancelled, "begin": begun}[asked["do"]]
    trusted = ssl.create_default_context(cafile=asked.get("authority"))
    turns, headers = InTurn(verify=trusted), asked["headers"]
    async with httpx2.AsyncClient(headers=headers, timeout=120, transport=turns) as http:
        transport = streamable_http_client(asked["urls"][0], http_client=http)
        async with Client(transport, mode=asked["mode"]) as client:
            print(json.dumps(await doing(client)), flush=True)


anyio.run(main)
