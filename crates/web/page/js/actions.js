// What a person does: dialogs, and the requests that they send.

import { focusAgain, h, toast } from "./dom.js";
import { get, post } from "./net.js";
import { members, state } from "./state.js";

// Does something, and says what came of it. Returns whether it was done.
export async function run(work, done) {
  try {
    await work();
    if (done) toast(done);
    return true;
  } catch (error) {
    toast(error.message, true);
    return false;
  }
}

// The focus goes round in a dialog, and not into the browser's own controls.
function goRound(event) {
  if (event.key !== "Tab") return;
  const all = [...event.currentTarget.querySelectorAll("input, textarea, select, button, summary, a[href], [tabindex='0']")];
  const places = all.filter((node) => !node.disabled && node.getClientRects().length > 0);
  const [first, last] = [places[0], places.at(-1)];
  if (document.activeElement !== (event.shiftKey ? first : last)) return;
  event.preventDefault();
  (event.shiftKey ? last : first).focus();
}

export function dialog(title, content, submit, opener = document.activeElement) {
  const close = () => node.close();
  const form = h("form", { method: "dialog" },
    h("h2", {}, title),
    h("div", { class: "stack" }, h("p", {}), content),
    h("div", { class: "row end" },
      h("button", { type: "button", class: "quiet", onclick: close }, submit ? "Cancel" : "Close"),
      submit && h("button", { type: "submit" }, submit.label)));
  const node = h("dialog", { "aria-label": title, onkeydown: goRound, onclose: () => { node.remove(); focusAgain(opener); } }, form);
  if (submit) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = form.querySelector("[type=submit]");
      button.disabled = true;
      const values = Object.fromEntries(new FormData(form));
      if (await run(() => submit.work(values), submit.done)) close();
      button.disabled = false;
    });
  }
  document.body.append(node);
  node.showModal();
  return node;
}

const input = (label, name, props = {}) => h("label", { class: props.wide ? "wide" : null }, label, h("input", { name, ...props, wide: null }));
const area = (label, name, props = {}) => h("label", { class: "wide" }, label, h("textarea", { name, ...props }));

export function messageDialog(to) {
  const wanted = to ?? "lead";
  const options = ["lead", ...members().map((member) => member.name)];
  dialog("Send a message", [
    h("label", {}, "To", h("select", { name: "to" },
      h("option", { value: "*" }, "everybody (broadcast)"),
      options.map((name) => h("option", { value: name, selected: name === wanted }, name)))),
    area("Text", "text", { required: true, autofocus: true }),
  ], {
    label: "Send", done: "Sent",
    work: ({ to: name, text }) => (name === "*" ? post("/api/broadcast", { text }) : post("/api/send", { to: name, text })),
  });
}

export function spawnDialog() {
  dialog("Start a member", h("div", { class: "fields two" },
    input("Name", "name", { required: true, autofocus: true, autocomplete: "off" }),
    input("Role", "role", { required: true, placeholder: "coder" }),
    input("Model", "model", { placeholder: "as the team's settings say", wide: true }),
    area("First instruction", "prompt", { placeholder: "without one it waits for mail or a task" }),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "require_plan" }), "Needs an approved plan"),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "own_tree" }), "Works in a tree of its own")), {
    label: "Start", done: "Started",
    work: (values) => post("/api/spawn", { ...values, require_plan: !!values.require_plan, own_tree: !!values.own_tree }),
  });
}

export function shutdownDialog(name) {
  dialog(`Ask ${name} to end`, [
    h("p", {}, "It finishes what it is at, saves and ends, or refuses with a reason."),
    input("Reason", "reason", { autofocus: true }),
  ], { label: "Ask", done: "Asked", work: ({ reason }) => post("/api/shutdown", { name, reason }) });
}

export function restartDialog(name) {
  dialog(`Restart ${name}`, h("p", {}, "Its process ends, and a new one goes on with the same conversation, mail and task."),
    { label: "Restart", done: `Restarted ${name}`, work: () => post("/api/restart", { name }) });
}

export function budgetDialog(name) {
  const spent = name ? state.members.get(name)?.spent : state.team?.spent;
  const number = (text) => (text === "" ? undefined : Number(text));
  dialog(`Budget of ${name ?? "the team"}`, h("div", { class: "fields two" },
    h("p", { class: "muted wide" }, "Everything since the team was created counts. What you leave empty stays as it is."),
    input("Most tokens", "max_tokens", { type: "number", min: 0, step: 1, value: spent?.max_tokens ?? "", autofocus: true }),
    input("Most dollars", "max_cost", { type: "number", min: 0, step: "0.01", value: spent?.max_cost ?? "" })), {
    label: "Set", done: "The budget is set",
    work: (values) => post("/api/budget", { member: name, max_tokens: number(values.max_tokens), max_cost: number(values.max_cost) }),
  });
}

const numbers = (text) => text.split(/[\s,#]+/).filter(Boolean).map(Number);

function taskFields(task = {}) {
  return h("div", { class: "fields two" },
    input("What is to be done", "subject", { required: true, value: task.subject ?? "", wide: true, autofocus: true }),
    area("Description", "description", { value: task.description ?? "" }),
    input("Priority, 0 to 10", "priority", { type: "number", min: 0, max: 10, value: task.priority ?? 5 }),
    input("Only for the role", "role", { value: task.role ?? "", placeholder: "any" }),
    input("Waits for tasks", "blocked_by", { value: (task.blockedBy ?? []).join(", "), placeholder: "1, 2", wide: true }));
}

export function newTaskDialog() {
  dialog("New task", taskFields(), {
    label: "Create", done: "Created",
    work: (values) => post("/api/task/create", { ...values, priority: Number(values.priority), blocked_by: numbers(values.blocked_by) }),
  });
}

export async function taskDialog(id) {
  const opener = document.activeElement;
  await run(async () => {
    const task = await get("/api/task", { id });
    const facts = [task.status.replace("_", " "), task.owner && `of ${task.owner}`].filter(Boolean).join(" ");
    const history = (task.history ?? []).slice(-12).map((entry) => h("li", {}, `${entry.by} ${entry.action}${entry.note ? `: ${entry.note}` : ""}`));
    dialog(`Task #${id}`, [
      h("p", { class: "muted" }, facts),
      taskFields(task),
      task.result && h("div", {}, h("h3", {}, "Result"), h("pre", {}, task.result)),
      history.length > 0 && h("details", { class: "fold" }, h("summary", {}, "History"), h("ul", { class: "feed" }, history)),
    ], {
      label: "Save", done: "Saved",
      work: (values) => {
        const wanted = numbers(values.blocked_by);
        const old = task.blockedBy ?? [];
        return post("/api/task/update", {
          id, subject: values.subject, description: values.description, priority: Number(values.priority), role: values.role,
          add_blocked_by: wanted.filter((other) => !old.includes(other)),
          remove_blocked_by: old.filter((other) => !wanted.includes(other)),
        });
      },
    }, opener);
  });
}

export function helpDialog() {
  const keys = [["g h", "home"], ["g b", "board"], ["g m", "messages"], ["g c", "costs"], ["g w", "work"], ["g e", "events"],
    ["g s", "sessions"],
    ["m", "send a message"], ["s", "start a member"], ["t", "new task"], ["j k", "next and previous card"],
    ["Enter", "open the task in focus"], ["+ −", "raise or lower its priority"], ["a", "approve the card in focus"], ["x", "reject it, with a reason"], ["?", "this list"], ["Esc", "close"]];
  dialog("Keys", h("table", {}, h("tbody", {}, keys.map(([name, text]) => h("tr", {}, h("td", {}, h("code", {}, name)), h("td", {}, text))))));
}
