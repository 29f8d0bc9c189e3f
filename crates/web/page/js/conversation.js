// A member: its state, its conversation as it goes on, and what can be done with it.

import { budgetDialog, restartDialog, run, shutdownDialog } from "./actions.js";
import { edits, patch } from "./diff.js";
import { clock, h, keyed, spentText } from "./dom.js";
import { markdown } from "./markdown.js";
import { get, post } from "./net.js";
import { outcomeText, shutdownOf } from "./outcomes.js";
import { state } from "./state.js";

const isMarkdown = (entry) => entry.kind === "said" || entry.type === "message" || entry.from === "prompt";

function call(entry, old) {
  const body = [
    entry.change && edits(entry.change),
    entry.output && !(entry.change && entry.state === "done") && h("pre", { tabindex: 0, "aria-label": "Output" }, entry.output),
  ].filter(Boolean);
  const isOpen = old?.querySelector("details")?.open ?? (!!entry.change && entry.state !== "failed");
  return h("details", { open: isOpen }, h("summary", {},
    h("span", { class: `state ${entry.state}` }, entry.state), " ", h("code", {}, entry.call)),
  body.length ? body : h("p", { class: "muted" }, entry.state === "running" ? "It runs." : "It said nothing."));
}

function entryNode(entry, old) {
  const content = () => {
    if (entry.kind === "call") return call(entry, old);
    if (entry.kind === "note") return entry.text;
    const text = isMarkdown(entry) ? markdown(entry.text) : h("pre", {}, entry.text);
    const kind = entry.type && entry.type !== "message" ? ` (${entry.type.replaceAll("_", " ")})` : "";
    return entry.kind === "told" ? [h("p", { class: "who" }, entry.from + kind), text] : text;
  };
  return h("li", { class: `entry ${entry.kind}` }, content());
}

export function conversation(main, name) {
  const stateLine = h("p", { class: "row" });
  const list = h("ol", { class: "conversation", "aria-live": "polite", "aria-label": `Conversation of ${name}` });
  const nothing = h("p", { class: "empty" }, "Nothing was said yet.");
  const text = h("textarea", { "aria-label": `Message to ${name}`, placeholder: `Message to ${name}`, required: true });
  const changes = h("div", {});
  const ending = h("p", { class: "row ending", hidden: true });
  const send = async (event) => {
    event.preventDefault();
    if (await run(() => post("/api/send", { to: name, text: text.value }), "Sent")) text.value = "";
  };
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event); });
  const showChanges = () => run(async () => {
    const found = await get("/api/diff", { member: name });
    changes.replaceChildren(found.patch ? patch(found.patch) : h("p", { class: "empty" }, "No changes in a tree of its own."));
  });
  main.replaceChildren(
    h("div", { class: "heading" }, h("h2", {}, name), stateLine, h("span", { class: "grow" }), h("div", { class: "row" },
      h("button", { type: "button", class: "quiet", onclick: showChanges }, "Changes"),
      h("button", { type: "button", class: "quiet", onclick: () => budgetDialog(name) }, "Budget"),
      h("button", { type: "button", class: "quiet", onclick: () => restartDialog(name) }, "Restart"),
      h("button", { type: "button", class: "danger", onclick: () => shutdownDialog(name) }, "Shut down"))),
    ending, changes, list, nothing,
    h("form", { class: "compose", onsubmit: send }, text, h("button", { type: "submit" }, "Send")));
  return (parts) => {
    const member = state.members.get(name);
    if (parts.has("members")) {
      if (member) {
        stateLine.replaceChildren(h("span", { class: `state ${member.state}` }, member.state),
          h("span", { class: "muted" }, member.role), h("code", {}, member.doing ?? member.reason ?? ""),
          h("span", { class: "muted small" }, spentText(member.spent)));
      } else stateLine.replaceChildren(h("span", { class: "muted" }, "is not a member"));
    }
    if (parts.has("requests") || parts.has("events")) {
      const asked = [...state.requests.values()].find((request) => request.kind === "shutdown" && request.to === name);
      const outcome = shutdownOf(name);
      ending.hidden = !asked && !outcome;
      if (asked) ending.replaceChildren(h("span", { class: "state waiting" }, "pending"), `${name} is asked to end`, ...(asked.deadline ? ["until", clock(asked.deadline)] : []));
      else if (outcome) ending.replaceChildren(h("span", { class: `state ${outcome.status}` }, outcome.status), h("span", {}, outcomeText(outcome)), clock(outcome.time));
    }
    if (parts.has("conversation")) {
      const isAtEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
      const entries = state.conversation?.member === name ? [...state.conversation.entries.values()] : [];
      keyed(list, entries, (entry) => entry.n, entryNode);
      nothing.hidden = entries.length > 0;
      if (isAtEnd) scrollTo(0, document.body.scrollHeight);
    }
  };
}
