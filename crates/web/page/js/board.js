// The board as columns, with drag and drop for priorities, and as a graph.

import { newTaskDialog, run, taskDialog } from "./actions.js";
import { h, keyed, toast } from "./dom.js";
import { graph } from "./graph.js";
import { get, post } from "./net.js";
import { state, tasks } from "./state.js";

const COLUMNS = [["ready", "Ready"], ["blocked", "Blocked"], ["in_progress", "In progress"], ["completed", "Completed"]];
const MAX_CARDS = 100;
// A column is no longer than this, however often more is asked for.
const MOST_CARDS = 500;

function columnOf(task) {
  if (task.status !== "pending") return task.status;
  return task.blocked ? "blocked" : "ready";
}

const setPriority = (id, priority) => run(() => post("/api/task/update", { id, priority: Math.max(0, Math.min(10, priority)) }));

// The priority with which a task comes before another: equal ones are taken by their number.
function before(task, next) {
  return Math.min(10, task.id < next.id ? next.priority : next.priority + 1);
}

let dragged = null;
let refresh = () => {};

function card(task) {
  const isOpen = task.status === "pending";
  const node = h("li", { class: "task", draggable: isOpen ? "true" : null, tabindex: 0, "data-card": true, "data-focus": `t${task.id}`, "data-task": task.id, "aria-label": `Task ${task.id}: ${task.subject}` },
    h("button", { type: "button", class: "subject", "data-focus": `s${task.id}`, onclick: () => taskDialog(task.id) }, `#${task.id} ${task.subject}`),
    h("div", { class: "facts" },
      task.owner && h("span", {}, task.owner), task.role && h("span", {}, `for ${task.role}`),
      task.blocked_by.length > 0 && h("span", {}, `after ${task.blocked_by.map((id) => `#${id}`).join(", ")}`),
      h("span", { class: "grow" }), h("span", { class: "steps" },
      isOpen && h("button", { type: "button", class: "quiet icon", "data-focus": `d${task.id}`, "data-lower": true, "aria-label": `Lower the priority of task ${task.id}`, onclick: () => setPriority(task.id, task.priority - 1) }, "−"),
      h("span", { class: "priority", title: "Priority" }, String(task.priority)),
      isOpen && h("button", { type: "button", class: "quiet icon", "data-focus": `u${task.id}`, "data-raise": true, "aria-label": `Raise the priority of task ${task.id}`, onclick: () => setPriority(task.id, task.priority + 1) }, "+"))));
  if (!isOpen) return node;
  node.addEventListener("dragstart", (event) => {
    dragged = task;
    event.dataTransfer.setData("text/plain", `task ${task.id}`);
    node.classList.add("dragged");
  });
  node.addEventListener("dragend", () => { dragged = null; node.classList.remove("dragged"); refresh(); });
  node.addEventListener("dragover", (event) => { if (dragged) { event.preventDefault(); node.classList.add("over"); } });
  node.addEventListener("dragleave", () => node.classList.remove("over"));
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    node.classList.remove("over");
    if (dragged && dragged.id !== task.id) setPriority(dragged.id, before(dragged, task));
  });
  return node;
}

export function board(main) {
  let asGraph = localStorage.getItem("team-lead-graph") === "yes";
  const older = new Map();
  const limits = new Map();
  const known = () => [...new Map([...older.values(), ...tasks()].map((task) => [task.id, task])).values()];
  const area = h("div", {});
  const toggle = h("button", {
    type: "button", class: "quiet",
    onclick: () => { asGraph = !asGraph; localStorage.setItem("team-lead-graph", asGraph ? "yes" : "no"); build(); },
  });
  main.replaceChildren(h("div", { class: "heading" }, h("h2", {}, "Board"), h("span", { class: "grow" }), toggle,
    h("button", { type: "button", onclick: newTaskDialog }, "New task")), area);
  const columns = new Map();

  async function more(column) {
    const status = column === "ready" || column === "blocked" ? "pending" : column;
    await run(async () => {
      const shown = known().filter((task) => task.status === status).length;
      const page = await get("/api/tasks", { status, skip: shown });
      for (const task of page.tasks) older.set(task.id, task);
      if (page.tasks.length === 0) toast("There are no more.");
      limits.set(column, Math.min(MOST_CARDS, (limits.get(column) ?? MAX_CARDS) + MAX_CARDS));
      show(new Set(["tasks"]));
    });
  }

  function build() {
    toggle.textContent = asGraph ? "Show columns" : "Show graph";
    columns.clear();
    if (asGraph) area.replaceChildren();
    else {
      area.replaceChildren(h("div", { class: "columns" }, COLUMNS.map(([name, title]) => {
        const list = h("ol", { "aria-label": title });
        const total = h("span", { class: "muted" });
        const button = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => more(name) }, "Show more");
        const rest = h("p", { class: "muted small", hidden: true }, "Further ones: ", h("code", {}, "team-lead task list"));
        columns.set(name, { list, total, button, rest });
        return h("section", { class: "column" }, h("h3", {}, title, total), list, button, rest);
      })));
    }
    show(new Set(["tasks"]));
  }

  function show(parts) {
    if (!parts.has("tasks") && !parts.has("team")) return;
    if (asGraph) return area.replaceChildren(graph(tasks()));
    // While something is dragged its element has to stay.
    if (dragged) return;
    const all = known().sort((left, right) => right.priority - left.priority || left.id - right.id);
    const totals = state.team?.tasks ?? {};
    for (const [name, { list, total, button, rest }] of columns) {
      let own = all.filter((task) => columnOf(task) === name);
      if (name === "completed") own = own.sort((left, right) => right.id - left.id);
      const limit = limits.get(name) ?? MAX_CARDS;
      keyed(list, own.slice(0, limit), (task) => task.id, card);
      const count = totals[name] ?? own.length;
      total.textContent = String(count);
      button.hidden = list.childElementCount >= count || limit >= MOST_CARDS;
      rest.hidden = list.childElementCount >= count || limit < MOST_CARDS;
    }
  }
  refresh = () => show(new Set(["tasks"]));
  build();
  return show;
}
