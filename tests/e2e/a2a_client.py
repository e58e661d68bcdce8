"""Asks the agents of a gateway by the official SDK, and prints what it saw as one JSON object.

Arguments: the gateway's address, the version of the protocol, two keys.
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)

GATEWAY, VERSION, KEY, OTHER_KEY = sys.argv[1:5]
sent = 0


async def agent(name, key=KEY, **config):
    """A client of the agent that speaks VERSION, and the agent's card."""
    http = httpx.AsyncClient(headers={"X-API-Key": key} if key else {}, timeout=60)
    card = await A2ACardResolver(http, f"{GATEWAY}/a2a/{name}").get_agent_card()
    others = [it for it in card.supported_interfaces if it.protocol_version != VERSION]
    for interface in others:
        card.supported_interfaces.remove(interface)
    return ClientFactory(ClientConfig(httpx_client=http, **config)).create(card), card


def message(text, task=None, same=None, **metadata):
    global sent
    sent += 1
    message = Message(
        message_id=same or f"m-{VERSION}-{sent}",
        role=Role.ROLE_USER,
        parts=[Part(text=text)],
        task_id=task,
    )
    message.metadata.update(metadata)
    return SendMessageRequest(message=message)


def state(task):
    return TaskState.Name(task.status.state)


def said(artifacts):
    return "".join(part.text for it in artifacts for part in it.parts)


async def one(client, request):
    """The task that a message comes to."""
    async for event in client.send_message(request):
        return event.task


async def refused(call):
    """What a call is refused with."""
    try:
        await call
    except Exception as error:
        return type(error).__name__, str(error)
    return "nothing"


async def first(events):
    async for event in events:
        return event


async def streamed(events, begun=None):
    """The states, pieces and last whole answer of a stream; sets `begun` at its first event."""
    states, pieces, whole = [], [], None
    async for event in events:
        if begun:
            begun.set()
        kind = event.WhichOneof("payload")
        if kind == "task":
            states.append(state(event.task))
        elif kind == "status_update":
            states.append(state(event.status_update))
        elif event.artifact_update.last_chunk:
            whole = said([event.artifact_update.artifact])
        else:
            update = event.artifact_update
            pieces.append((update.append, said([update.artifact])))
    return {"states": states, "pieces": pieces, "whole": whole}


async def main():
    seen = {}
    at_once, card = await agent("clerk", streaming=False)
    seen["card"] = {
        "name": card.name,
        "skills": [skill.id for skill in card.skills],
        "schemes": sorted(card.security_schemes),
        "versions": [it.protocol_version for it in card.supported_interfaces],
    }
    task = await one(at_once, message("hello"))
    seen["sent"] = {"state": state(task), "said": said(task.artifacts), "id": task.id}
    again = await at_once.get_task(GetTaskRequest(id=task.id))
    seen["got"] = {"state": state(again), "said": said(again.artifacts), "id": again.id}
    repeated = [await one(at_once, message("twice", same=f"same-{VERSION}")) for _ in "ab"]
    seen["repeated"] = repeated[0].id == repeated[1].id
    seen["refused"] = {
        "unknown": await refused(at_once.get_task(GetTaskRequest(id="no-such-task"))),
        "ended": await refused(at_once.cancel_task(CancelTaskRequest(id=task.id))),
        "continued": await refused(one(at_once, message("more", task=task.id))),
        "file": await refused(one(at_once, SendMessageRequest(message=Message(
            message_id=f"file-{VERSION}", role=Role.ROLE_USER,
            parts=[Part(url="https://example.com/a.pdf", media_type="application/pdf")],
        )))),
    }
    other, _ = await agent("clerk", OTHER_KEY, streaming=False)
    seen["refused"]["of another"] = await refused(other.get_task(GetTaskRequest(id=task.id)))
    nobody, _ = await agent("clerk", None, streaming=False)
    seen["refused"]["nobody"] = await refused(one(nobody, message("hello")))

    ledger, card = await agent("ledger", streaming=False)
    seen["ledger"] = {
        "skills": [skill.id for skill in card.skills],
        "unsaid": await refused(one(ledger, message("pay"))),
        "unknown": await refused(one(ledger, message("pay", action="embezzle"))),
        "said": state(await one(ledger, message("pay", action="read"))),
    }
    failing, _ = await agent("broken", streaming=False)
    task = await one(failing, message("hello"))
    seen["failed"] = {"state": state(task), "said": task.status.message.parts[0].text}

    talking, _ = await agent("talker")
    seen["streamed"] = await streamed(talking.send_message(message("Say something")))

    polling, _ = await agent("slow", streaming=False, polling=True)
    following, _ = await agent("slow")
    task = await one(polling, message("take your time"))
    seen["at once"] = state(task)
    events = following.subscribe(SubscribeToTaskRequest(id=task.id))
    begun = asyncio.Event()
    follower = asyncio.create_task(streamed(events, begun))
    await begun.wait()
    await polling.cancel_task(CancelTaskRequest(id=task.id))
    seen["followed"] = (await follower)["states"][-1]
    seen["cancelled"] = state(await polling.get_task(GetTaskRequest(id=task.id)))
    ended = first(following.subscribe(SubscribeToTaskRequest(id=task.id)))
    seen["refused"]["follow ended"] = await refused(ended)
    print(json.dumps(seen))


asyncio.run(main())
