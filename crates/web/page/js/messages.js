// Who writes to whom: a line of life for each party, an arrow for each message, newest first.

import { clock, h, keyed, s } from "./dom.js";
import { run } from "./actions.js";
import { get } from "./net.js";
import { members, state } from "./state.js";

const LANE = 84;
const HEIGHT = 34;
const MAX_LANES = 14;
const short = (text) => (text.length > 10 ? `${text.slice(0, 9)}…` : text);

function arrow(from, to, lanes) {
  const place = (name) => lanes.indexOf(name) * LANE + LANE / 2;
  const [start, end] = [place(from), place(to)];
  const side = end > start ? -1 : 1;
  const width = lanes.length * LANE;
  return s("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": true },
    lanes.map((_, at) => s("line", { x1: at * LANE + LANE / 2, x2: at * LANE + LANE / 2, y1: 0, y2: HEIGHT })),
    start === end ? s("circle", { cx: start, cy: HEIGHT / 2, r: 4, class: "head" })
      : [s("path", { class: "arrow", d: `M${start} ${HEIGHT / 2} H${end + side * 6}` }),
        s("path", { class: "head", d: `M${end} ${HEIGHT / 2} l${side * 9} -5 v10 z` })]);
}

export function messages(main) {
  const head = h("div", { class: "flow-head", "aria-hidden": true });
  const list = h("ol", { class: "flow" });
  const nothing = h("p", { class: "empty" }, "No messages yet.");
  const older = [];
  let next = null;
  const button = h("button", { type: "button", class: "quiet" }, "Older messages");
  button.addEventListener("click", () => run(async () => {
    const page = await get("/api/events", { q: "→", ...next });
    const oldest = [...older, ...state.events].reduce((time, event) => Math.min(time, event.time), Infinity);
    older.push(...page.events.filter((event) => event.mail && event.time < oldest));
    next = page.next;
    button.hidden = !next;
    show(new Set(["events"]));
  }));
  main.replaceChildren(h("div", { class: "heading" }, h("h2", {}, "Messages")), h("div", { class: "card scroll", tabindex: 0, role: "region", "aria-label": "Messages" }, head, list, nothing), button);
  function show(parts) {
    if (!parts.has("events") && !parts.has("members")) return;
    const all = [...state.events.filter((event) => event.mail).reverse(), ...older];
    const busy = new Set(all.flatMap((event) => [event.mail.from, event.mail.to]));
    const known = ["user", "lead", ...members().map((member) => member.name), "system"];
    const lanes = [...known.filter((name) => busy.has(name)), ...[...busy].filter((name) => !known.includes(name))].slice(0, MAX_LANES);
    const width = lanes.length * LANE;
    head.replaceChildren(s("svg", { width, height: 26, viewBox: `0 0 ${width} 26` },
      lanes.map((name, at) => s("text", { x: at * LANE + LANE / 2, y: 17, "text-anchor": "middle" }, short(name)))));
    keyed(list, all.map((event, at) => ({ ...event, lanes, key: all.length - at })), (event) => event.key, ({ mail, time, person }) => h("li", {},
      arrow(mail.from, mail.to, lanes),
      h("p", { class: "text" }, clock(time), " ", h("strong", {}, `${mail.from} → ${mail.to}`), person && ` by ${person}`,
        mail.type !== "message" && h("span", { class: "muted" }, ` ${mail.type.replaceAll("_", " ")}`), ` ${mail.preview ?? ""}`)));
    nothing.hidden = all.length > 0;
  }
  return show;
}
