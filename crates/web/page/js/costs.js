// What was spent: over time as a chart, and by member, model and task.

import { budgetDialog, run } from "./actions.js";
import { clock, count, h, money, s, spentText } from "./dom.js";
import { get } from "./net.js";
import { state } from "./state.js";

const [WIDTH, HEIGHT, BASE] = [960, 240, 210];
const WAIT = 3000;

function chart({ start, step, points, members, is_whole: isWhole }) {
  const names = Object.keys(members);
  if (names.length === 0) return h("p", { class: "empty" }, "No model was asked yet.");
  const hasCost = Object.values(members).flat().some(([, , cost]) => cost > 0);
  const value = ([, tokens, cost]) => (hasCost ? cost : tokens);
  const totals = new Array(points).fill(0);
  Object.values(members).flat().forEach((point) => { totals[point[0]] += value(point); });
  const most = Math.max(...totals, Number.MIN_VALUE);
  const heights = new Array(points).fill(0);
  const bar = WIDTH / points;
  const bars = names.flatMap((name, series) => members[name].map((point) => {
    const height = (value(point) / most) * (BASE - 20);
    heights[point[0]] += height;
    return s("rect", { class: `series-${series % 8}`, x: point[0] * bar, y: BASE - heights[point[0]], width: Math.max(1.5, bar - 1.5), height });
  }));
  const label = (at) => new Date((start + at * step) * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const unit = hasCost ? money(most) : `${count(most)} tokens`;
  return h("figure", { class: "card chart" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${hasCost ? "Cost" : "Tokens"} over time from ${label(0)} to ${label(points)}, at most ${unit} in a step` },
      s("line", { class: "axis", x1: 0, x2: WIDTH, y1: BASE, y2: BASE }), bars,
      s("text", { x: 0, y: 14, class: "faint" }, unit),
      [0, 0.5, 1].map((part) => s("text", { x: part * WIDTH, y: HEIGHT - 8, class: "faint", "text-anchor": ["start", "middle", "end"][part * 2] }, label(points * part)))),
    h("figcaption", { class: "legend" }, names.map((name, series) => h("span", {}, s("svg", { viewBox: "0 0 10 10", "aria-hidden": true }, s("rect", { class: `series-${series % 8}`, width: 10, height: 10, rx: 2 })), name)),
      !isWhole && h("span", { class: "muted" }, "The chart shows the newest part of the event log.")));
}

function table(title, lines) {
  const cost = (sum) => (sum.unpriced && sum.unpriced === sum.calls ? "unknown" : money(sum.cost) + (sum.unpriced ? " and more" : ""));
  return h("section", {}, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Costs by ${title.toLowerCase()}` }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, title), ["Calls", "Tokens", "Minutes", "Cost"].map((name) => h("th", { class: "number", scope: "col" }, name)))),
    h("tbody", {}, lines.slice(0, 100).map(({ key, sum }) => h("tr", {}, h("td", {}, key ?? "no task"),
      [sum.calls, count(sum.tokens), sum.minutes.toFixed(1), cost(sum)].map((text) => h("td", { class: "number" }, String(text)))))))));
}

export function costs(main) {
  const total = h("p", { class: "muted" });
  const area = h("div", {});
  main.replaceChildren(h("div", { class: "heading" }, h("h2", {}, "Costs"), total, h("span", { class: "grow" }),
    h("button", { type: "button", onclick: () => budgetDialog(null) }, "Raise the budget")), area);
  let known = null;
  let timer = 0;
  const load = () => run(async () => {
    const found = await get("/api/costs");
    area.replaceChildren(chart(found.chart), table("Member", found.members), table("Model", found.models), table("Task", found.tasks),
      h("p", { class: "muted small" }, "as of ", clock(Date.now() / 1000)));
  });
  return (parts) => {
    if (!parts.has("team")) return;
    total.textContent = spentText(state.team?.spent);
    const spent = JSON.stringify(state.team?.spent);
    if (spent === known) return;
    const isFirst = known === null;
    known = spent;
    clearTimeout(timer);
    timer = setTimeout(() => { if (area.isConnected) load(); }, isFirst ? 0 : WAIT);
  };
}
