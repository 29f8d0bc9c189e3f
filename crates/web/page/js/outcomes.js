// What became of requests, and what is said of it: what somebody else has answered, what has expired, and what a member
// says to the request to end.

import { announce, toast } from "./dom.js";
import { changed, state, waiting } from "./state.js";

export const KINDS = { plan: "Plan", permission: "Permission", question: "Question", shutdown: "Shutdown" };
const MAX_SHOWN = 5;
const KEPT = "team-lead-dismissed";

// The requests that this page has answered by itself.
export const answered = new Set();

export const nameOf = ({ kind, from }) => `${KINDS[kind]} of ${from}`;

export function outcomeText(outcome) {
  const { kind, status, to, by, text } = outcome;
  const why = text ? `: ${text}` : "";
  if (kind === "shutdown") {
    if (status === "approved") return `${to} ends${why}`;
    return status === "rejected" ? `${to} does not end${why}` : `${to} was asked to end, and that has expired${why}`;
  }
  if (status === "expired") return `${nameOf(outcome)} has expired${why}`;
  const word = kind === "question" ? "answered" : status;
  return `${nameOf(outcome)} was ${word} by ${by}${why}`;
}

const all = () => state.events.filter((event) => event.outcome).map((event) => ({ ...event.outcome, time: event.time }));
// What ended without an answer, or with a no to what was asked from here.
const isUnsettled = ({ kind, status, from }) => status === "expired" || (kind === "shutdown" && status === "rejected" && from === "user");

// The newest outcomes that a person may still have to act upon, newest first.
export function unsettled() {
  const dismissed = new Set(JSON.parse(localStorage.getItem(KEPT) ?? "[]"));
  return all().filter((outcome) => isUnsettled(outcome) && !dismissed.has(outcome.id)).slice(-MAX_SHOWN).reverse();
}

export function dismiss(id) {
  const dismissed = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
  localStorage.setItem(KEPT, JSON.stringify([...dismissed, id].slice(-100)));
  changed("events");
}

// What came of the newest request to this member to end.
export const shutdownOf = (name) => all().findLast((outcome) => outcome.kind === "shutdown" && outcome.to === name);

let isFirst = true;
let told = new Set();
let waited = new Set();

// Says what has ended elsewhere, and what waits now. What was there when the page began is shown, and not said.
export function tellNews(parts) {
  if (parts.has("events")) {
    for (const outcome of all()) {
      if (!isFirst && !told.has(outcome.id) && !answered.has(outcome.id)) toast(outcomeText(outcome), isUnsettled(outcome));
    }
    told = new Set(all().map((outcome) => outcome.id));
  }
  if (parts.has("requests")) {
    const now = waiting();
    const fresh = now.filter((request) => !waited.has(request.id));
    if (!isFirst && fresh.length > 0) announce(`${fresh.map(nameOf).join(", ")} waits for you`);
    waited = new Set(now.map((request) => request.id));
  }
  isFirst = false;
}
