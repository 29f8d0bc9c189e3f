// Submissions, trees, and what the team has that the user's branch has not.

import { run } from "./actions.js";
import { patch } from "./diff.js";
import { h, keyed } from "./dom.js";
import { get, post } from "./net.js";

const WAIT = 1000;

function submission(item) {
  const files = item.conflict?.files ?? [];
  const changes = h("div", {}, h("p", { class: "muted" }, "Loading what it changes."));
  const details = [
    item.reason && h("p", {}, item.reason),
    files.map((file) => h("div", {}, h("p", {}, `in conflict: ${file.path}${file.authors?.length ? `, changed by ${file.authors.join(", ")}` : ""}`), file.hunks && h("pre", {}, file.hunks))),
    item.check && h("div", {}, h("p", {}, h("code", {}, item.check.command), ` ${item.check.end} (${item.check.seconds} s)`), item.check.output && h("pre", {}, item.check.output)),
  ].flat().filter(Boolean);
  const show = (event) => {
    if (event.target.open && !changes.dataset.asked) run(async () => {
      changes.dataset.asked = "yes";
      const found = await get("/api/diff", { submission: item.id });
      changes.replaceChildren(found.patch ? patch(found.patch) : h("p", { class: "muted" }, "It changes nothing."), leftOut(found));
    });
  };
  return h("li", {}, h("details", { class: "fold", ontoggle: show, "data-submission": item.id }, h("summary", {}, h("span", { class: `state ${item.status}` }, item.status), ` #${item.id} ${item.member}: ${item.subject ?? ""}`,
    h("span", { class: "muted small" }, ` ${String(item.commit).slice(0, 9)}${item.task ? `, task #${item.task}` : ""}`)),
  h("div", { class: "inside stack" }, details, changes)));
}

const leftOut = (found) => (found.left_out > 0 ? h("p", { class: "muted" }, `${found.left_out} more bytes: team-lead diff`) : "");

function tree(item, show) {
  const place = item.ahead === null ? "" : `${item.ahead} ahead, ${item.behind} behind`;
  return h("li", { class: "card row" }, h("strong", {}, item.name), h("code", {}, item.branch ?? "no branch"), h("span", { class: "muted" }, place),
    item.uncommitted.length > 0 && h("span", { class: "state waiting" }, `${item.uncommitted.length} not committed`),
    h("span", { class: "grow" }), h("button", { type: "button", class: "quiet", onclick: () => show(item.name) }, "Changes"));
}

export function work(main) {
  const changes = h("div", {});
  const title = h("h2", {}, "Not in your branch yet");
  const submissions = h("ul", { class: "stack" });
  const trees = h("ul", { class: "stack" });
  const land = h("button", { type: "button", onclick: () => run(() => post("/api/land"), "The work is in your branch").then(load) }, "Bring into my branch");
  main.replaceChildren(
    h("section", {}, h("div", { class: "heading" }, title, h("span", { class: "grow" }), land), changes),
    h("section", {}, h("div", { class: "heading" }, h("h2", {}, "Submissions")), submissions),
    h("section", {}, h("div", { class: "heading" }, h("h2", {}, "Trees")), trees));
  let shown = null;
  const showPatch = (member) => run(async () => {
    shown = member;
    const found = await get("/api/diff", { member });
    title.textContent = member ? `Changes of ${member}` : "Not in your branch yet";
    land.hidden = !!member || !found.patch;
    changes.replaceChildren(found.patch ? patch(found.patch) : h("p", { class: "empty" }, "No changes."), leftOut(found));
  });
  const load = () => run(async () => {
    const found = await get("/api/work");
    // What was unfolded stays so.
    const fill = (list, items, keyOf, render, none) => keyed(list, items.length ? items : [{ none }], (item) => item.none ?? keyOf(item),
      (item) => (item.none ? h("li", { class: "empty" }, item.none) : render(item)));
    fill(submissions, found.submissions, (item) => item.id, submission, "No submissions.");
    fill(trees, found.trees, (item) => item.name, (item) => tree(item, showPatch), "No member has a tree of its own.");
    await showPatch(shown);
  });
  let timer = 0;
  let isFirst = true;
  return (parts) => {
    if (!isFirst && !parts.has("members")) return;
    clearTimeout(timer);
    timer = setTimeout(() => { if (changes.isConnected) load(); }, isFirst ? 0 : WAIT);
    isFirst = false;
  };
}
