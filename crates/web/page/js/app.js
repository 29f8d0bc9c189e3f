// The page: which view is shown, what stands above all views, and keys.

import { helpDialog, messageDialog, newTaskDialog, spawnDialog } from "./actions.js";
import { board } from "./board.js";
import { costs } from "./costs.js";
import { $, focusAgain, focusHeading, h, setText, spentText } from "./dom.js";
import { events } from "./events.js";
import { home, lookForWork } from "./home.js";
import { messages } from "./messages.js";
import { follow, isPlain, login } from "./net.js";
import { tellNews } from "./outcomes.js";
import { sessions } from "./sessions.js";
import { onChange, state, waitingCount } from "./state.js";
import { conversation } from "./conversation.js";
import { work } from "./work.js";

const VIEWS = { "": home, board, messages, costs, work, events, sessions };
const NAMES = { "": "home" };
const EVERYTHING = new Set(["team", "members", "requests", "tasks", "events", "conversation"]);
let show = () => {};
let isIn = false;
let path = null;

// A part of the address; one that somebody has made up may be no text.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function route() {
  if (!isIn) return;
  const [view, name] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (location.hash === "#main") return $("main").focus();
  const member = view === "member" ? name : null;
  show = member ? conversation($("main"), member) : (Object.hasOwn(VIEWS, view) ? VIEWS[view] : home)($("main"));
  const current = member ? "home" : (NAMES[view] ?? view);
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  // On a phone not all tabs have room. `scrollIntoView` would also move the place from which Tab goes on.
  const tab = document.querySelector("[aria-current]");
  if (tab) tab.closest("ul").scrollLeft = tab.offsetLeft + (tab.offsetWidth - innerWidth) / 2;
  if (path !== null) {
    focusHeading(null, { preventScroll: true });
    scrollTo(0, 0);
  }
  const followed = path?.member ?? null;
  const isFirst = path === null;
  path = { member };
  if (isFirst || followed !== member) follow(member, connection);
  if (state.team) show(EVERYTHING);
}

function header() {
  const { team } = state;
  if (!team) return;
  const count = waitingCount();
  setText($("team-name"), team.name || "team-lead");
  setText($("team-folder"), team.folder);
  setText($("lead-state"), team.lead ? `Lead: ${team.lead}` : "Lead: not running");
  setText($("spent"), spentText(team.spent));
  $("waiting-count").hidden = count === 0;
  setText($("waiting-count"), String(count));
  document.title = `${count ? `(${count}) ` : ""}${team.name || "team-lead"}`;
  banner(team.problem ? `The team cannot be read: ${team.problem}` : null);
}

function banner(text) {
  $("banner").hidden = !text;
  setText($("banner"), text ?? "");
}

// What is shown is never older than it looks: while the connection is lost the page says so, and nothing can
// be pressed. What had the focus gets it back.
let hadFocus = null;
function connection(word, why) {
  const node = $("connection");
  node.className = `connection ${word}`;
  setText(node, { live: "live", lost: "reconnecting", out: "logged out" }[word]);
  if (word === "lost" && $("main").contains(document.activeElement)) hadFocus = document.activeElement;
  $("main").inert = word === "lost";
  if (word === "live" && hadFocus) {
    if (document.activeElement === document.body) focusAgain(hadFocus);
    hadFocus = null;
  }
  document.body.dataset.connection = word;
  if (word === "lost") banner(`The connection is lost (${why}); what you see may be old.`);
  else if (word === "live" && !state.team?.problem) banner(null);
  if (word === "out") out("This browser was let out, or was never let in.");
}

function out(text) {
  isIn = false;
  document.body.dataset.connection = "out";
  $("main").replaceChildren(h("div", { class: "card stack" }, h("h2", {}, "Not logged in"), h("p", {}, text),
    h("p", {}, "A link for this browser is printed by ", h("code", {}, "team-lead web --link"), ".")));
}

function move(step) {
  const cards = [...document.querySelectorAll("main [data-card]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  cards[Math.max(0, Math.min(cards.length - 1, at + step))]?.focus();
}

let before = "";
function press(event) {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  // A key that is held down would approve the next card too.
  if (isTyping || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !isIn) return;
  const key = event.key;
  const places = { h: "", b: "board", m: "messages", c: "costs", w: "work", e: "events", s: "sessions" };
  const card = document.activeElement.closest("[data-card]");
  if (before === "g" && key in places) location.hash = `#/${places[key]}`;
  else if (key === "?") helpDialog();
  else if (key === "m") messageDialog(path.member);
  else if (key === "s") spawnDialog();
  else if (key === "t") newTaskDialog();
  else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "a") card?.querySelector("[data-approve]")?.click();
  else if (key === "+" || key === "-") card?.querySelector(key === "+" ? "[data-raise]" : "[data-lower]")?.click();
  else if (key === "Enter" && event.target.matches(".task")) card.querySelector(".subject").click();
  else if (key === "x") card?.querySelector("input")?.focus();
  else {
    before = key;
    return;
  }
  before = "";
  event.preventDefault();
}

onChange((parts) => {
  header();
  tellNews(parts);
  lookForWork(parts);
  show(parts);
});
addEventListener("hashchange", route);
addEventListener("keydown", press);
$("message").addEventListener("click", () => messageDialog(path?.member));
$("spawn").addEventListener("click", spawnDialog);
$("plain").hidden = !isPlain;
login().then((known) => {
  isIn = known;
  if (known) route();
  else out("This browser has no session.");
}).catch((error) => out(error.message));
