// Differences as coloured lines.

import { h } from "./dom.js";

const MAX_LINES = 4000;
const line = (kind, text) => h("div", { class: kind }, text);

const kindOf = (row) => (/^(---|\+\+\+) /.test(row) ? "file" : ({ "+": "added", "-": "removed", "@": "place" }[row[0]] ?? ""));

// Lines of a patch as somebody wrote them into a text.
export function lines(rows) {
  return h("div", { class: "diff", tabindex: 0, role: "region", "aria-label": "Changes" },
    rows.slice(0, MAX_LINES).map((row) => line(kindOf(row), row)));
}

// A patch of git, one part that folds for each file.
export function patch(text) {
  const out = h("div", { class: "stack" });
  let file = null;
  for (const row of text.trimEnd().split("\n").slice(0, MAX_LINES)) {
    if (row.startsWith("diff --git ")) {
      const name = row.split(" b/").pop();
      file = h("div", { class: "diff", tabindex: 0, role: "region", "aria-label": `Changes of ${name}` });
      out.append(h("details", { class: "fold", open: out.childElementCount < 8 }, h("summary", {}, h("code", {}, name)), file));
    } else if (file && !/^(index|---|\+\+\+|new file|deleted file|similarity|rename) ?/.test(row)) {
      const kind = { "+": "added", "-": "removed", "@": "place" }[row[0]];
      file.append(line(kind ?? "", row));
    }
  }
  return out;
}

// The old and the new text of an edit, without what is the same at both ends.
export function edits(changes) {
  const out = h("div", { class: "diff" });
  for (const { old, new: fresh } of changes) {
    const before = old ? old.split("\n") : [];
    const after = fresh.split("\n");
    let start = 0;
    while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
    let end = 0;
    while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
    out.append(...before.slice(start, before.length - end).map((row) => line("removed", `- ${row}`)));
    out.append(...after.slice(start, after.length - end).map((row) => line("added", `+ ${row}`)));
  }
  return out;
}
