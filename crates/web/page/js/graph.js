// The dependencies of tasks as a picture: each task to the right of those it waits for.

import { taskDialog } from "./actions.js";
import { h, s } from "./dom.js";

const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [236, 46, 64, 16];
const MAX_NODES = 150;

// The longest way from a task without dependencies.
function layers(tasks) {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const found = new Map();
  const layer = (id, seen) => {
    if (found.has(id)) return found.get(id);
    if (seen.has(id)) return 0;
    const needs = known.get(id).blocked_by.filter((other) => known.has(other));
    const own = needs.length ? 1 + Math.max(...needs.map((other) => layer(other, new Set([...seen, id])))) : 0;
    found.set(id, own);
    return own;
  };
  tasks.forEach((task) => layer(task.id, new Set()));
  return found;
}

const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

export function graph(all) {
  const linked = new Set(all.flatMap((task) => (task.blocked_by.length ? [task.id, ...task.blocked_by] : [])));
  const shown = all.filter((task) => linked.has(task.id) || task.status !== "completed").slice(0, MAX_NODES);
  if (shown.length === 0) return h("p", { class: "empty" }, "No tasks are open.");
  const layerOf = layers(shown);
  const rows = new Map();
  const places = new Map();
  for (const task of [...shown].sort((left, right) => left.id - right.id)) {
    const layer = layerOf.get(task.id);
    const row = rows.get(layer) ?? 0;
    rows.set(layer, row + 1);
    places.set(task.id, [layer * (WIDTH + GAP_X), row * (HEIGHT + GAP_Y)]);
  }
  const width = (Math.max(...rows.keys()) + 1) * (WIDTH + GAP_X) - GAP_X + 4;
  const height = Math.max(...rows.values()) * (HEIGHT + GAP_Y);
  const edges = shown.flatMap((task) => task.blocked_by.filter((id) => places.has(id)).map((id) => {
    const [fromX, fromY] = places.get(id);
    const [toX, toY] = places.get(task.id);
    const [x, y, endY] = [fromX + WIDTH, fromY + HEIGHT / 2, toY + HEIGHT / 2];
    return s("path", { d: `M${x} ${y} C${x + GAP_X / 2} ${y} ${toX - GAP_X / 2} ${endY} ${toX} ${endY}` });
  }));
  const nodes = shown.map((task) => {
    const [x, y] = places.get(task.id);
    const open = () => taskDialog(task.id);
    const title = short(`#${task.id} ${task.subject}`, 28);
    const state = short(task.owner ?? task.status.replace("_", " "), 28);
    return s("g", {
      class: `node ${task.status}`, transform: `translate(${x + 2} ${y + 2})`, tabindex: 0, role: "button",
      "aria-label": `${title} ${state}${task.blocked_by.length ? `, after ${task.blocked_by.join(", ")}` : ""}${title.endsWith("…") ? `: ${task.subject}` : ""}`,
      onclick: open, "data-focus": `n${task.id}`,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } },
    }, s("rect", { width: WIDTH, height: HEIGHT, rx: 8 }),
    s("text", { x: 12, y: 20 }, title), " ",
    s("text", { x: 12, y: 37, class: "faint" }, state));
  });
  const left = all.length - shown.length;
  return h("div", {}, h("div", { class: "card graph", tabindex: 0, role: "group", "aria-label": "Dependencies of tasks" },
    s("svg", { width, height: height + 4, viewBox: `0 0 ${width} ${height + 4}` }, edges, nodes)),
  left > 0 && h("p", { class: "muted small" }, `Completed or further tasks that are not in the picture: ${left}.`));
}
