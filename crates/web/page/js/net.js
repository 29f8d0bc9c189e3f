// The session, requests, and the stream of changes.

import { apply } from "./state.js";

const KEY = "team-lead-key";
let status = () => {};
let aborter = null;
let delay = 0;
let timer = 0;
let followed = null;

export const key = () => localStorage.getItem(KEY);

function headers(more) {
  return { "x-team-lead-key": key() ?? "", ...more };
}

// Exchanges the token of the address for a session. It leaves the address and the history at once.
export async function login() {
  const token = location.hash.slice(1);
  if (!/^[0-9a-f]{64}$/.test(token)) return key() !== null;
  history.replaceState(null, "", "/#/");
  const response = await fetch("/api/login", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }),
  });
  const reply = await response.json();
  if (!response.ok) {
    if (key() !== null) return true;
    throw new Error(reply.error);
  }
  localStorage.setItem(KEY, reply.key);
  return true;
}

export function forget() {
  localStorage.removeItem(KEY);
  aborter?.abort();
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
  return reply(await fetch(params ? `${path}?${params}` : path, { headers: headers() }));
}

export async function post(path, body = {}) {
  return reply(await fetch(path, {
    method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body),
  }));
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
    const response = await fetch(`/api/stream${query}`, { headers: headers(), signal: own.signal });
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
