// Asks the gateway. A query that failed is thrown, never an empty answer.

const BASE = "/dashboard/api";

/** How long an answer is waited for, in milliseconds. */
const PATIENCE = 60_000;

/** Silence for so long, in milliseconds, means that the stream is cut. */
const SILENCE = 8_000;

/** Between tries to open the stream again, in milliseconds. */
const AGAIN = 3_000;

/** Why there is no answer. */
export class Failure extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The JSON under a path; `body` makes it a POST. */
export async function get(path, { body, signal } = {}) {
  const asked = { headers: { "x-puruto-dashboard": "1" }, cache: "no-store" };
  if (body !== undefined) {
    asked.method = "POST";
    asked.headers["content-type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  const bound = AbortSignal.timeout(PATIENCE);
  asked.signal = signal ? AbortSignal.any([signal, bound]) : bound;
  let answer;
  try {
    answer = await fetch(BASE + path, asked);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(0, "NO_ANSWER", "the gateway does not answer");
  }
  const value = await answer.json().catch(() => null);
  if (answer.ok && value !== null) return value;
  if (answer.status === 401) location.reload();
  const told = value?.error;
  throw new Failure(answer.status, told?.code ?? "FAILED", told?.message ?? `the gateway answered ${answer.status}`);
}

/** The path of a request. */
export function pathOf(target, id) {
  return `/requests/${encodeURIComponent(target)}/${encodeURIComponent(id)}`;
}

/**
 * Follows the overview: `part(name, value)` for each part that changes, `tick(now)` at each reading,
 * `cut()` when nothing comes any more.
 */
export function follow({ part, tick, cut }) {
  let source, heard, isCut = false;
  const hears = () => { heard = Date.now(); };
  const open = () => {
    source = new EventSource(`${BASE}/live`);
    for (const name of ["targets", "workers", "servers", "letters", "requests"]) {
      source.addEventListener(name, (event) => { hears(); part(name, JSON.parse(event.data)); });
    }
    source.addEventListener("tick", (event) => { hears(); isCut = false; tick(JSON.parse(event.data).now_ms); });
    source.addEventListener("error", () => {
      lost();
      if (source.readyState !== EventSource.CLOSED) return;
      // Refused: the session may be over, which any question tells.
      get("/requests?limit=1").catch(() => null);
      setTimeout(open, AGAIN);
    });
  };
  const lost = () => { if (!isCut) { isCut = true; cut(); } };
  hears();
  open();
  setInterval(() => { if (Date.now() - heard > SILENCE) lost(); }, 1_000);
}
