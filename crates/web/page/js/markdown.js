// Markdown as elements: headings, lists, code, quotes, emphasis. Everything else stays text; there is no HTML,
// no picture, and a link shows where it leads.

import { lines as diffLines } from "./diff.js";
import { h } from "./dom.js";

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)|(\[[^\]\n]+\]\(https?:\/\/[^\s)]+\))/;

function inline(text) {
  const nodes = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    nodes.push(rest.slice(0, found.index));
    const [whole, code, strong, emphasis] = found;
    if (code) nodes.push(h("code", {}, code.slice(1, -1)));
    else if (strong) nodes.push(h("strong", {}, strong.slice(2, -2)));
    else if (emphasis) nodes.push(h("em", {}, emphasis.slice(1, -1)));
    else nodes.push(link(whole));
    rest = rest.slice(found.index + whole.length);
  }
  nodes.push(rest);
  return nodes;
}

function link(text) {
  const at = text.indexOf("](");
  const [label, address] = [text.slice(1, at), text.slice(at + 2, -1)];
  const shown = label === address ? label : `${label} (${address})`;
  return h("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, shown);
}

const isItem = (line) => /^\s*([-*+]|\d+[.)])\s+/.test(line);

export function markdown(text) {
  const out = h("div", { class: "markdown" });
  const lines = text.split("\n");
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) out.append(h("p", {}, inline(paragraph.join("\n"))));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const heading = /^#{1,6}\s+(.*)/.exec(line);
    if (line.trimStart().startsWith("```")) {
      flush();
      const isDiff = /^\s*```(diff|patch)\s*$/.test(line);
      const code = [];
      for (at += 1; at < lines.length && !lines[at].trimStart().startsWith("```"); at += 1) code.push(lines[at]);
      out.append(isDiff ? diffLines(code) : h("pre", { tabindex: 0 }, h("code", {}, code.join("\n"))));
    } else if (heading) {
      flush();
      out.append(h("h4", {}, inline(heading[1])));
    } else if (isItem(line)) {
      flush();
      const list = h(/^\s*\d/.test(line) ? "ol" : "ul", {});
      for (; at < lines.length && isItem(lines[at]); at += 1) {
        list.append(h("li", {}, inline(lines[at].replace(/^\s*([-*+]|\d+[.)])\s+/, ""))));
      }
      at -= 1;
      out.append(list);
    } else if (line.startsWith(">")) {
      flush();
      out.append(h("blockquote", {}, inline(line.replace(/^>\s?/, ""))));
    } else if (line.trim() === "") flush();
    else paragraph.push(line);
  }
  flush();
  return out;
}
