// The session, requests, and the stream of changes.

import { dropKey, keepKey, loadKey, nonce, sign } from "./proof.js";
import { apply } from "./state.js";

let status = () => {};
let aborter = null;
let delay = 0;
let timer = 0;
let followed = null;
let key = null;
// The run of the server that this page speaks to, and what it sends to that run instead of its key.
let run = null;
let pageKey = "";

// Whether what is sent crosses a network as plain text.
export const isPlain = !isSecureContext;

async function speakTo(other) {
  pageKey = await sign(key, `page ${other}`);
  run = other;
}

// Exchanges the token of the address for a session. It leaves the address and the history at once.
export async function login() {
  const token = location.hash.slice(1);
  key = await loadKey();
  if (!/^[0-9a-f]{64}$/.test(token)) return key !== null;
  history.replaceState(null, "", "/#/");
  const response = await fetch("/api/login", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }),
  });
  const reply = await response.json();
  if (!response.ok) {
    if (key !== null) return true;
    throw new Error(reply.error);
  }
  key = await keepKey(reply.key);
  await speakTo(reply.run);
  return true;
}

export async function forget() {
  aborter?.abort();
  await dropKey();
}

// A reply of the server: whatever else answers at this address does not know the key, and is not believed.
async function proven(path, init, headers = {}) {
  const number = nonce();
  const response = await fetch(path, { ...init, headers: { ...headers, ...init.headers, "x-team-lead-nonce": number } });
  const [its, proof] = (response.headers.get("x-team-lead-proof") ?? "").split(" ");
  if (proof !== await sign(key, `server ${number} ${its} ${response.status}`)) {
    throw new Error("what answers at this address is not the server of this session, and was told nothing");
  }
  return { response, its };
}

async function meet(init = {}) {
  const { its } = await proven("/api/hello", init);
  if (its !== run) await speakTo(its);
}

async function ask(path, init = {}) {
  if (run === null) await meet();
  const spokenTo = run;
  const { response, its } = await proven(path, init, { "x-team-lead-key": pageKey });
  if (response.status !== 401 || its === spokenTo) return response;
  // The server was started again, and has done nothing.
  await speakTo(its);
  return (await proven(path, init, { "x-team-lead-key": pageKey })).response;
}

async function reply(response) {
  const body = await response.json().catch(() => ({ error: response.statusText }));
  if (response.status === 401) status("out");
  if (!response.ok) throw new Error(body.hint ? `${body.error} (${body.hint})` : body.error);
  return body;
}

export async function get(path, query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const params = new URLSearchParams(known).toString();
  return reply(await ask(params ? `${path}?${params}` : path));
}

export async function post(path, body = {}) {
  return reply(await ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

// Follows the team, and the conversation of a member if one is shown.
export function follow(member, report = status) {
  status = report;
  followed = member;
  delay = 0;
  connect();
}

async function connect() {
  clearTimeout(timer);
  aborter?.abort();
  const own = new AbortController();
  aborter = own;
  try {
    const query = followed ? `?member=${encodeURIComponent(followed)}` : "";
    await meet({ signal: own.signal });
    const response = await ask(`/api/stream${query}`, { signal: own.signal });
    if (response.status === 401) return status("out");
    if (!response.ok) throw new Error((await response.json()).error);
    await read(response.body.getReader());
    throw new Error("the server has ended");
  } catch (error) {
    if (own.signal.aborted) return;
    status("lost", error.message);
    delay = Math.min(delay ? delay * 2 : 250, 10_000);
    timer = setTimeout(connect, delay * (0.75 + Math.random() / 2));
  }
}

async function read(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const messages = rest.split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      const lines = message.split("\n");
      const event = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (!event || !data) continue;
      apply(event, JSON.parse(data));
      delay = 0;
      status("live");
    }
  }
}

// A browser that was asleep or offline does not wait for the next try.
addEventListener("online", () => { if (delay) connect(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden && delay) connect(); });
