// The browsers that are let in, and links for more.

import { run } from "./actions.js";
import { clock, h } from "./dom.js";
import { forget, get, isPlain, post } from "./net.js";
import { picture } from "./qr.js";

export function sessions(main) {
  const list = h("tbody", {});
  const place = h("div", {});
  const person = h("input", { name: "person", autocomplete: "name" });
  const load = () => run(async () => {
    const found = await get("/api/sessions");
    person.value = found.person;
    list.replaceChildren(...found.sessions.map((session) => h("tr", {},
      h("td", {}, session.person, session.own && h("span", { class: "muted" }, " (this browser)")), h("td", { class: "small" }, session.agent), h("td", {}, clock(session.used)),
      h("td", {}, h("button", { type: "button", class: "danger", onclick: () => end(session) }, session.own ? "Log out" : "End"))))); 
  });
  async function end(session) {
    if (!session.own) return run(() => post("/api/sessions/revoke", { id: session.id }), "Ended").then(load);
    await run(() => post("/api/logout"));
    await forget();
    location.reload();
  }
  const link = () => run(async () => {
    const { url } = await post("/api/sessions/link");
    const copy = h("button", { type: "button", class: "quiet", onclick: () => run(() => navigator.clipboard.writeText(url), "Copied") }, "Copy");
    place.replaceChildren(h("p", { class: "muted" }, "For one browser, once. Whoever has it may do what you may."), h("p", { class: "link", tabindex: 0 }, url),
      // Browsers let only pages that are encrypted or of this machine copy, and the latter lead no phone here.
      isPlain ? h("div", { class: "qr" }, picture(url, "The link, for a phone that takes a picture of it")) : copy);
  });
  const rename = (event) => {
    event.preventDefault();
    run(() => post("/api/sessions/name", { person: person.value }), "Saved").then(load);
  };
  const warning = h("p", { class: "warn" }, "This page is not encrypted: whoever reads along in this network may do what you may.");
  main.replaceChildren(
    h("section", {}, isPlain && warning, h("div", { class: "heading" }, h("h2", {}, "Sessions"), h("span", { class: "grow" }), h("button", { type: "button", onclick: link }, "Link for another browser")), place,
      h("div", { class: "card scroll", tabindex: 0, role: "region", "aria-label": "Sessions" }, h("table", {}, h("thead", {}, h("tr", {}, ["Person", "Browser", "Last used", "End"].map((name) => h("th", { scope: "col" }, name)))), list))),
    h("section", {}, h("div", { class: "heading" }, h("h2", {}, "Your name")), h("form", { class: "card stack", onsubmit: rename },
      h("label", {}, "Answers and events of this browser carry it", person), h("button", { type: "submit" }, "Save"))));
  load();
  return () => {};
}
