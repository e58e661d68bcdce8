# Asks others as its prompt says, then answers with what they said.
#
# The prompt is an object:
#   ask     children: {target, action, prompt, ...}; a prompt that is no text goes as JSON
#   join    for how many of them it waits
#   volley  two names: the other one is asked the same, or more each time where `grow` is true
#   fan     [how many, target]: so many children that differ in their prompts
#   forge   fields that have no business in a delegation, put beside and into each child
#   hang    it never answers, and runs until somebody ends it
#   say     its own summary, else "heard"
import json
import sys
import time

request = json.load(sys.stdin)
wish = json.loads(request["prompt"])


def text(prompt):
    return prompt if isinstance(prompt, str) else json.dumps(prompt)


def volley():
    ours, theirs = wish["volley"]
    other = theirs if request["target"] == ours else ours
    grown = dict(wish, turn=wish.get("turn", 0) + 1)
    prompt = text(grown) if wish.get("grow") else request["prompt"]
    return {"target": other, "action": "do", "prompt": prompt}


def children():
    if "volley" in wish:
        yield volley()
    if "fan" in wish:
        count, target = wish["fan"]
        for number in range(count):
            yield {"target": target, "action": "do", "prompt": f"leaf {number}"}
    for child in wish.get("ask", []):
        yield dict(child, prompt=text(child["prompt"]))


def said(child):
    if child["status"] == "ok":
        return child["result"]["summary"]
    return child.get("error", {}).get("code", child["status"])


while wish.get("hang"):
    time.sleep(60)
asked = [dict(child, **wish.get("forge", {})) for child in children()]
turns = request.get("delegated", [])
if asked and not turns:
    answer = dict(wish.get("forge", {}), children=asked, join=wish.get("join", "all"))
    answer = {"delegate": answer}
else:
    heard = [child for turn in turns for child in turn["children"]]
    answer = {
        "request_id": request["request_id"],
        "correlation_id": request["correlation_id"],
        "status": "ok",
        "duration_ms": 0,
        "result": {
            "summary": wish.get("say", "heard"),
            "said": [said(child) for child in heard],
            "children": heard,
        },
    }
json.dump(answer, sys.stdout)
