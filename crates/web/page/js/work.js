// Submissions, trees, and what the team has that the user's branch has not.

import { run } from "./actions.js";
import { patch } from "./diff.js";
import { h } from "./dom.js";
import { get, post } from "./net.js";

const WAIT = 1000;

function submission(item) {
  const files = item.conflict?.files ?? [];
  const details = [
    item.reason && h("p", {}, item.reason),
    files.map((file) => h("div", {}, h("p", {}, `in conflict: ${file.path}${file.authors?.length ? `, changed by ${file.authors.join(", ")}` : ""}`), file.hunks && h("pre", {}, file.hunks))),
    item.check && h("div", {}, h("p", {}, h("code", {}, item.check.command), ` ${item.check.end} (${item.check.seconds} s)`), item.check.output && h("pre", {}, item.check.output)),
  ].flat().filter(Boolean);
  return h("li", {}, h("details", { class: "fold" }, h("summary", {}, h("span", { class: `state ${item.status}` }, item.status), ` #${item.id} ${item.member}: ${item.subject ?? ""}`,
    h("span", { class: "muted small" }, ` ${String(item.commit).slice(0, 9)}${item.task ? `, task #${item.task}` : ""}`)),
  details.length ? details : h("p", { class: "muted" }, "Nothing more to say.")));
}

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
  const showPatch = (member) => run(async () => {
    const found = await get("/api/diff", { member });
    title.textContent = member ? `Changes of ${member}` : "Not in your branch yet";
    land.hidden = !!member || !found.patch;
    changes.replaceChildren(found.patch ? patch(found.patch) : h("p", { class: "empty" }, "No changes."),
      found.left_out > 0 ? h("p", { class: "muted" }, `${found.left_out} more bytes: team-lead diff`) : "");
  });
  const load = () => run(async () => {
    const found = await get("/api/work");
    const none = (text) => h("li", { class: "empty" }, text);
    submissions.replaceChildren(...(found.submissions.length ? found.submissions.map(submission) : [none("No submissions.")]));
    trees.replaceChildren(...(found.trees.length ? found.trees.map((item) => tree(item, showPatch)) : [none("No member has a tree of its own.")]));
    await showPatch(null);
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
