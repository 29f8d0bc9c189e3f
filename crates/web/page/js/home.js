// What waits for the person, the members, and the newest events.

import { budgetDialog, run } from "./actions.js";
import { edits, patch } from "./diff.js";
import { clock, focusHeading, h, keyed, spentText } from "./dom.js";
import { markdown } from "./markdown.js";
import { get, post } from "./net.js";
import { KINDS, answered, dismiss, nameOf, outcomeText, unsettled } from "./outcomes.js";
import { members, setLanding, state, waiting } from "./state.js";

const WAITS = { plan: "for its plan", permission: "for permission", answer: "for an answer", background: "for a command",
  rate_limit: "for its rate limit", server: "for its server", disk: "for the disk", budget: "for budget", tree: "for its tree", turn: "for its turn" };

async function answer(request, approve, text, scope) {
  const word = request.kind === "question" ? "answered" : approve ? "approved" : "rejected";
  answered.add(request.id);
  const isDone = await run(() => post("/api/answer", { id: request.id, approve, text, scope }), `${nameOf(request)}: ${word}`);
  if (!isDone) answered.delete(request.id);
}

function approval(request, reason) {
  const yes = (label, scope, kind) => h("button", {
    type: "button", class: kind, "data-approve": scope === "once" || !scope, onclick: () => answer(request, true, reason.value, scope),
  }, label);
  const no = h("button", {
    type: "button", class: "danger",
    onclick: () => {
      if (reason.value.trim()) return answer(request, false, reason.value);
      reason.setCustomValidity("Say what is wrong with it");
      reason.reportValidity();
      reason.setCustomValidity("");
    },
  }, "Reject");
  if (request.kind !== "permission") return [yes("Approve"), no];
  return [yes("Allow once", "once"),
    request.grants && yes(`Allow ${request.from} from now on`, "member", "quiet"),
    request.grants && yes("Allow the team from now on", "team", "quiet"), no];
}

function question(request, reason) {
  const choice = (text) => h("button", { type: "button", class: "quiet", onclick: () => answer(request, true, text) }, text);
  return [
    h("div", { class: "choices" }, request.choices.map(choice)),
    (request.free_text || request.choices.length === 0) && h("button", { type: "button", onclick: () => answer(request, true, reason.value) }, "Answer"),
  ];
}

// The old and the new text of a call that would edit a file.
function changesOf({ tool, arguments: given }) {
  if (tool === "write_file" && typeof given.content === "string") return [{ old: "", new: given.content }];
  const all = tool === "edit_file" ? given.edits ?? [given] : [];
  const isEdit = (edit) => typeof edit?.old_text === "string" && typeof edit?.new_text === "string";
  return Array.isArray(all) && all.length > 0 && all.every(isEdit) ? all.map((edit) => ({ old: edit.old_text, new: edit.new_text })) : null;
}

function what(request) {
  if (request.kind === "plan") return markdown(request.plan);
  if (request.kind === "question") return markdown(request.question);
  const changes = changesOf(request);
  if (changes) return [h("pre", {}, request.arguments.path), edits(changes)];
  const rest = request.tool === "bash" ? "" : JSON.stringify(request.arguments, null, 2);
  return [h("pre", {}, request.tool === "bash" ? `$ ${request.arguments.command ?? request.text}` : request.text || rest)];
}

function requestCard(request) {
  const isQuestion = request.kind === "question";
  const label = isQuestion ? "Your answer" : "Feedback";
  const reason = h("input", {
    placeholder: isQuestion ? "An answer of your own" : "Feedback (needed to reject)", "data-focus": `reason ${request.id}`, "aria-label": `${label} for ${request.from}`,
    onkeydown: (event) => { if (isQuestion && event.key === "Enter" && reason.value.trim()) answer(request, true, reason.value); },
  });
  return h("li", {}, h("article", { class: "card request", tabindex: 0, "data-card": true, "data-focus": `card ${request.id}`, "data-request": request.id, "aria-label": nameOf(request) },
    h("header", {},
      h("h3", {}, KINDS[request.kind]), h("span", {}, "of ", h("a", { href: `#/member/${request.from}` }, request.from), request.host && ` on ${request.host}`),
      h("span", { class: "grow" }), h("span", { class: "muted small" }, clock(request.created))),
    h("div", { class: "what", tabindex: 0, role: "group", "aria-label": "What is asked" }, what(request)),
    request.why && h("p", { class: "muted small" }, `${request.why}, in ${request.cwd}`),
    request.sent ? h("footer", {}, h("p", { class: "muted small" }, "Answered, not yet recorded")) : h("footer", {}, reason, h("div", { class: "row" }, isQuestion ? question(request, reason) : approval(request, reason)))));
}

// The team's work that the user's branch does not have yet.
function landCard(work) {
  const land = () => run(() => post("/api/land"), "The work is in your branch");
  return h("li", {}, h("article", { class: "card request", tabindex: 0, "data-card": true, "data-focus": "card land", "aria-label": "Work to land" },
    h("header", {}, h("h3", {}, "Submissions"), h("span", {}, "are merged, and not in your branch yet")),
    patch(work.patch),
    h("footer", {}, h("div", { class: "row" }, h("button", { type: "button", "data-approve": true, onclick: land }, "Bring into my branch")))));
}

// Asks for that work when the page has connected, and when the team's branch or the user's may have moved.
const WAIT = 300;
let timer = 0;
let newest = 0;
export function lookForWork(parts) {
  const last = state.events.findLast((event) => event.work)?.time ?? 0;
  if (!parts.has("all") && last === newest) return;
  newest = last;
  clearTimeout(timer);
  timer = setTimeout(() => get("/api/diff").then(({ patch: found }) => setLanding(found || null), () => {}), WAIT);
}

export function memberCard(member) {
  const waits = member.waiting_for ? ` ${WAITS[member.waiting_for] ?? ""}` : "";
  const facts = [member.host && `on ${member.host}`, member.task && `task #${member.task}`, member.todo, member.unread > 0 && `${member.unread} unread`,
    member.restarts > 0 && `restarted ${member.restarts}x`, member.branch, spentText(member.spent)];
  return h("li", {}, h("a", { class: "card member", "data-card": true, href: `#/member/${member.name}`, "data-focus": member.name },
    h("header", {}, h("h3", {}, member.name, " ", h("span", { class: "muted small" }, member.role)),
      h("span", { class: `state ${member.state}` }, member.state + waits)),
    h("p", { class: "doing muted" }, member.doing ?? member.reason ?? ""),
    h("p", { class: "facts" }, facts.filter(Boolean).map((text) => h("span", {}, text)))));
}

export function eventItem(event) {
  return h("li", {}, clock(event.time), event.text, event.person && h("span", { class: "muted" }, ` by ${event.person}`));
}

// A request that ended without what was asked for.
function outcomeItem(outcome) {
  return h("li", {}, h("article", { class: "card stack", tabindex: 0, "data-card": true, "data-focus": `outcome ${outcome.id}`, "aria-label": outcomeText(outcome) },
    h("p", {}, outcomeText(outcome)),
    h("div", { class: "row" }, h("span", { class: `state ${outcome.status}` }, outcome.status), h("span", { class: "muted small grow" }, clock(outcome.time)),
      h("button", { type: "button", class: "quiet", "aria-label": `Dismiss: ${outcomeText(outcome)}`, onclick: () => dismiss(outcome.id) }, "Dismiss"))));
}

export function home(main) {
  const list = h("ul", { class: "stack" });
  const nothing = h("p", { class: "empty" }, "Nothing waits for you.");
  const ended = h("ul", { class: "stack" });
  const outcomes = h("section", { class: "wide", "aria-labelledby": "outcomes", hidden: true },
    h("div", { class: "heading" }, h("h2", { id: "outcomes" }, "Not as asked")), ended);
  const cards = h("ul", { class: "members" });
  const nobody = h("p", { class: "empty" }, "No members yet.");
  const feed = h("ol", { class: "feed short" });
  main.replaceChildren(h("div", { class: "home" },
    h("div", { class: "wide sections" },
      h("section", { "aria-labelledby": "waiting" }, h("div", { class: "heading" }, h("h2", { id: "waiting" }, "Waits for you")), list, nothing),
      outcomes,
      h("section", { "aria-labelledby": "members" }, h("div", { class: "heading" }, h("h2", { id: "members" }, "Members"), h("span", { class: "grow" }),
        h("button", { type: "button", class: "quiet", onclick: () => budgetDialog(null) }, "Budget of the team")), cards, nobody)),
    h("section", { class: "aside", "aria-labelledby": "newest" }, h("div", { class: "heading" }, h("h2", { id: "newest" }, "Newest events")), feed)));
  return (parts) => {
    if (parts.has("requests") || parts.has("members")) {
      const items = [...waiting(), ...(state.landing ? [{ id: "land", patch: state.landing }] : [])];
      nothing.hidden = items.length > 0;
      // Whoever was about to answer what somebody else has answered does not answer the next one by mistake.
      keyed(list, items, (item) => item.id, (item) => (item.patch ? landCard(item) : requestCard(item)), (id) => answered.has(id) || id === "land");
      keyed(cards, members().slice(0, 200), (member) => member.name, memberCard);
      nobody.hidden = state.members.size > 0;
    }
    if (parts.has("events")) {
      const all = unsettled();
      if (all.length === 0 && outcomes.contains(document.activeElement)) focusHeading(list);
      keyed(ended, all, (outcome) => outcome.id, outcomeItem);
      outcomes.hidden = all.length === 0;
      keyed(feed, state.events.slice(-10).reverse().map((event, at) => ({ ...event, at })), (event) => event.at, eventItem);
    }
  };
}
