// The event log: what is new, and a search from its end.

import { run } from "./actions.js";
import { h } from "./dom.js";
import { eventItem } from "./home.js";
import { get } from "./net.js";
import { state } from "./state.js";

export function events(main) {
  const words = h("input", { type: "search", name: "q", "aria-label": "Search events", placeholder: "alice died", autocomplete: "off" });
  const list = h("ol", { class: "feed card" });
  const button = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => load() }, "Search further back");
  let next = null;
  let isSearch = false;
  let current = 0;
  async function load() {
    const own = current;
    await run(async () => {
      const page = await get("/api/events", { q: words.value, ...next });
      // The answer to an earlier search does not belong to this one.
      if (own !== current) return;
      list.append(...page.events.map(eventItem));
      next = page.next;
      button.hidden = !next;
      if (!list.childElementCount) list.append(h("li", { class: "muted" }, next ? "Nothing in the newest part." : "Nothing was found."));
    });
  }
  const search = (event) => {
    event.preventDefault();
    isSearch = words.value.trim() !== "";
    list.replaceChildren();
    next = null;
    current += 1;
    load();
  };
  main.replaceChildren(h("div", { class: "heading" }, h("h2", {}, "Events")),
    h("form", { class: "row", role: "search", onsubmit: search }, words, h("button", { type: "submit" }, "Search")), h("p", {}), list, button);
  let shown = 0;
  load();
  return (parts) => {
    if (!parts.has("events")) return;
    const newest = state.events.at(-1)?.time ?? 0;
    const isFirst = shown === 0;
    const fresh = state.events.filter((event) => event.time > shown);
    shown = newest || Number.MIN_VALUE;
    if (isFirst || isSearch || fresh.length === 0) return;
    list.prepend(...fresh.reverse().map(eventItem));
    while (list.childElementCount > 500) list.lastElementChild.remove();
  };
}
