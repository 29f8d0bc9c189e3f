// Elements from data. Text of the team only ever becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export const $ = (id) => document.getElementById(id);

// Shows items in a container and keeps the elements of those that have not changed, with what was typed there.
// The focus stays where it was, also if its element is made again or moved. If its item is gone, the next one has it
// where `maySkip` says so, and the heading of the list otherwise.
export function keyed(container, items, keyOf, render, maySkip = () => true) {
  const old = new Map([...container.children].map((node) => [node.dataset.key, node]));
  const focus = focusIn(container);
  let place = container.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    const version = JSON.stringify(item);
    let node = old.get(key);
    if (!node || node.version !== version) {
      const fresh = render(item, node);
      fresh.dataset.key = key;
      fresh.version = version;
      if (node) {
        if (place === node) place = fresh;
        node.replaceWith(fresh);
      }
      node = fresh;
    }
    old.delete(key);
    if (node !== place) container.insertBefore(node, place);
    else place = place.nextElementSibling;
  }
  for (const node of old.values()) node.remove();
  if (focus && document.activeElement !== focus.node) restore(container, focus, maySkip);
}

// Which item of a container has the focus, and what in it.
function focusIn(container) {
  const node = document.activeElement;
  if (!node || node === container || !container.contains(node)) return null;
  let item = node;
  while (item.parentElement !== container) item = item.parentElement;
  return { node, key: item.dataset.key, name: node.dataset.focus, at: [...container.children].indexOf(item) };
}

function restore(container, { node, key, name, at }, maySkip) {
  const card = (item) => (item?.matches("[data-card]") ? item : item?.querySelector("[data-card]"));
  const same = [...container.children].find((item) => item.dataset.key === key);
  if (same?.contains(node)) return node.focus();
  const again = same && name && byFocusName(same, name);
  if (again) return again.focus();
  const next = same ?? (maySkip(key) ? container.children[Math.min(at, container.childElementCount - 1)] : null);
  const wanted = card(next);
  if (wanted) wanted.focus();
  else focusHeading(container);
}

const byFocusName = (container, name) => {
  const wanted = `[data-focus="${CSS.escape(name)}"]`;
  return container.matches?.(wanted) ? container : container.querySelector(wanted);
};

// The heading above an element gets the focus, or that of the view.
export function focusHeading(node, options) {
  const heading = node?.closest("section")?.querySelector("h2, h3") ?? $("main").querySelector("h2");
  if (!heading) return $("main").focus(options);
  heading.tabIndex = -1;
  heading.focus(options);
}

// Gives the focus back to what had it, or to what is there in its place.
export function focusAgain(node) {
  if (node?.isConnected && node !== document.body) return node.focus();
  const name = node?.dataset?.focus;
  const again = name && byFocusName(document, name);
  if (again) again.focus();
  else focusHeading(null);
}

// Says something to those who do not see the page.
export function announce(text) {
  $("announcer").textContent = text;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function clock(time) {
  const date = new Date(time * 1000);
  const today = new Date().toDateString() === date.toDateString();
  const options = today ? { hour: "2-digit", minute: "2-digit", second: "2-digit" }
    : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
  return h("time", { datetime: date.toISOString() }, date.toLocaleString([], options));
}

export function count(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(1)}M`;
  return number >= 1e3 ? `${(number / 1e3).toFixed(1)}k` : String(number);
}

export function money(amount) {
  const number = Number(amount ?? 0);
  return `$${number.toFixed(number > 0 && number < 0.01 ? 4 : 2)}`;
}

export function spentText(spent) {
  if (!spent) return "";
  const parts = [`${count(spent.tokens)}${spent.max_tokens ? ` of ${count(spent.max_tokens)}` : ""} tokens`];
  if (Number(spent.cost) > 0 || spent.max_cost) parts.push(`${money(spent.cost)}${spent.max_cost ? ` of ${money(spent.max_cost)}` : ""}`);
  return parts.join(", ");
}

// What went wrong stays until it is closed; the newest three of those.
export function toast(text, bad = false) {
  const node = h("div", { class: bad ? "toast bad" : "toast" }, h("p", {}, text),
    bad && h("button", { type: "button", class: "quiet icon", "aria-label": "Close", onclick: () => node.remove() }, "×"));
  $("toasts").append(node);
  if (!bad) return setTimeout(() => node.remove(), 4000);
  const all = [...$("toasts").querySelectorAll(".bad")];
  for (const old of all.slice(0, -3)) old.remove();
}
