// What the server has told. Views read it and are told when it changes.

const empty = () => ({ team: null, members: new Map(), requests: new Map(), tasks: new Map(), events: [], conversation: null, landing: null });

export const state = empty();
const listeners = new Set();
const MAX_EVENTS = 200;

export function onChange(listener) {
  listeners.add(listener);
}

function tell(parts) {
  for (const listener of listeners) listener(parts);
}

// Shows a part again that has changed for this page alone.
export const changed = (part) => tell(new Set([part]));

function applyChange(change) {
  if (change.team) state.team = change.team;
  for (const name of ["members", "requests", "tasks"]) {
    if (!change[name]) continue;
    for (const key of change[name].gone) state[name].delete(key);
    for (const [key, row] of Object.entries(change[name].set)) state[name].set(key, row);
  }
  if (change.events) state.events = [...state.events, ...change.events].slice(-MAX_EVENTS);
}

export function apply(event, data) {
  if (event === "all") {
    // Nothing of before is kept: the server may be another one. What waits to be landed is asked for again.
    Object.assign(state, empty(), { landing: state.landing });
    applyChange(data);
    tell(new Set(["all", "team", "members", "requests", "tasks", "events", "conversation"]));
  } else if (event === "change") {
    applyChange(data);
    tell(new Set(Object.keys(data)));
  } else if (event === "conversation") {
    if (data.whole || state.conversation?.member !== data.member) state.conversation = { member: data.member, entries: new Map() };
    for (const entry of data.entries) state.conversation.entries.set(entry.n, entry);
    const numbers = [...state.conversation.entries.keys()];
    for (const old of numbers.slice(0, Math.max(0, numbers.length - 200))) state.conversation.entries.delete(old);
    tell(new Set(["conversation"]));
  }
}

// The patch of the team's work that the user's branch does not have yet.
export function setLanding(patch) {
  if (state.landing === patch) return;
  state.landing = patch;
  changed("requests");
}

const byPlace = (left, right) => left.at - right.at;
export const members = () => [...state.members.values()].sort(byPlace);
export const waiting = () => [...state.requests.values()].filter((request) => request.waits_for_person).sort(byPlace);
export const waitingCount = () => waiting().length + (state.landing ? 1 : 0);
export const tasks = () => [...state.tasks.values()].sort((left, right) => right.priority - left.priority || left.id - right.id);
