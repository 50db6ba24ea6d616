// Markdown as elements. Nothing in it is ever read as HTML: a tag in a text is shown as the text it is, and links
// lead to http, https and mailto only. What is known: headings, paragraphs, lists, quotes, code, tables, rules,
// emphasis, links. Pictures become links, for nothing is loaded from elsewhere.

import { el } from "/ui/dom.js";

const deepest = 12; // lists and quotes inside each other
const longest = 20000; // characters of a paragraph that is searched for spans: what is longer was not written by hand

export function markdown(text) {
  return el("div", { class: "prose" }, blocks(String(text).replace(/\r\n?/g, "\n").split("\n"), 0));
}

const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const fence = /^ {0,3}(```+|~~~+)\s*(\S*)/;
const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const quote = /^ {0,3}> ?/;
const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
const isTable = (lines, i) => lines[i].includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] || "") && (lines[i + 1] || "").includes("-");
const starts = (lines, i) => rule.test(lines[i]) || heading.test(lines[i]) || fence.test(lines[i]) || quote.test(lines[i]) || item.test(lines[i]) || isTable(lines, i);

function blocks(lines, depth) {
  const out = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    let m;
    if (!line.trim()) i++;
    else if ((m = line.match(fence))) {
      const end = lines.findIndex((l, n) => n > i && l.trim().startsWith(m[1]));
      const stop = end < 0 ? lines.length : end;
      out.push(el("pre", {}, el("code", {}, lines.slice(i + 1, stop).join("\n"))));
      i = stop + 1;
    } else if (rule.test(line)) { out.push(el("hr")); i++; }
    else if ((m = line.match(heading))) { out.push(el("h" + Math.min(6, m[1].length + 2), {}, inline(m[2]))); i++; }
    else if (quote.test(line) && depth < deepest) {
      const inner = take(lines, i, (l) => quote.test(l));
      out.push(el("blockquote", {}, blocks(inner.map((l) => l.replace(quote, "")), depth + 1)));
      i += inner.length;
    } else if (item.test(line) && depth < deepest) i = list(lines, i, out, depth);
    else if (isTable(lines, i)) i = table(lines, i, out);
    else {
      const inner = [line, ...take(lines, i + 1, (l, n) => l.trim() && !starts(lines, n))];
      out.push(el("p", {}, inner.flatMap((l, n) => [n > 0 && (/ {2}$/.test(inner[n - 1]) ? el("br") : "\n"), inline(l.trim())])));
      i += inner.length;
    }
  }
  return out;
}

function take(lines, from, fits) {
  let to = from;
  while (to < lines.length && fits(lines[to], to)) to++;
  return lines.slice(from, to);
}

// list reads the items of one list; what is indented further belongs to its item.
function list(lines, i, out, depth) {
  const [, indent, mark] = lines[i].match(item);
  const ordered = /\d/.test(mark);
  const node = el(ordered ? "ol" : "ul", ordered && parseInt(mark, 10) !== 1 ? { start: parseInt(mark, 10) } : {});
  for (let m; i < lines.length && (m = lines[i].match(item)) && m[1].length === indent.length && /\d/.test(m[2]) === ordered;) {
    const inside = indent.length + 1;
    const belongs = (l, n) => (l.trim() ? l.search(/\S/) >= inside || (lines[n - 1].trim() && !starts(lines, n)) : (lines[n + 1] || "").search(/\S/) >= inside);
    const rest = take(lines, i + 1, belongs);
    const shift = rest.reduce((least, l) => (l.trim() ? Math.min(least, l.search(/\S/)) : least), inside + mark.length);
    const inner = blocks([m[4], ...rest.map((l) => l.slice(Math.min(shift, Math.max(0, l.search(/\S/)))))], depth + 1);
    node.append(el("li", {}, inner.length && inner[0].tagName === "P" ? [[...inner[0].childNodes], inner.slice(1)] : inner));
    i += rest.length + 1;
    while (i < lines.length - 1 && !lines[i].trim() && lines[i + 1].match(item)?.[1].length === indent.length) i++;
  }
  out.push(node);
  return i;
}

function table(lines, i, out) {
  const rows = take(lines, i + 2, (l) => l.includes("|"));
  const row = (cell) => (line) => el("tr", {}, cells(line).map((c) => el(cell, {}, inline(c))));
  out.push(el("div", { class: "wide" }, el("table", {}, el("thead", {}, row("th")(lines[i])), el("tbody", {}, rows.map(row("td"))))));
  return i + 2 + rows.length;
}

// The spans of a line, each of a few hundred characters at the most so that none is looked for in vain for long: escape, code, link or picture, bare address, strong, emphasis, struck.
const spans = /\\([\\`*_{}[\]()#+\-.!|>~])|(`+)([^`]|[^`][\s\S]{0,400}?[^`])\2(?!`)|!?\[((?:[^[\]\\]|\\.)*)\]\(\s*<?([^\s)>]*)>?(?:\s+["'][^)]*)?\)|<?(https?:\/\/[^\s<>)\]]+[^\s<>)\].,;:!?'"])>?|(\*\*|__)(?=\S)([\s\S]{0,400}?\S)\7|(\*|_)(?=\S)([^*_]*?[^\s*_])\9(?![\p{L}\p{N}])|~~(?=\S)([\s\S]{0,400}?\S)~~/u;

function inline(text, depth = 0) {
  const out = [];
  if (text.length > longest) return [text];
  for (let m; text && depth < deepest && (m = text.match(spans));) {
    out.push(text.slice(0, m.index), span(m, depth + 1));
    text = text.slice(m.index + m[0].length);
  }
  return [...out, text];
}

function span([whole, escaped, , code, label, href, bare, , strong, , soft, struck], depth) {
  if (escaped) return escaped;
  if (code !== undefined) return el("code", {}, code.trim());
  if (label !== undefined) return link(href, inline(label || href, depth), whole);
  if (bare) return link(bare, bare, whole);
  if (strong !== undefined) return el("strong", {}, inline(strong, depth));
  if (soft !== undefined) return el("em", {}, inline(soft, depth));
  return el("s", {}, inline(struck, depth));
}

// link leads to what is surely an address of the web or of mail, and is plain text otherwise.
function link(href, shown, whole) {
  if (!/^(https?:\/\/|mailto:)/i.test(href) || !URL.canParse(href)) return whole;
  return el("a", { href, rel: "noopener noreferrer nofollow", target: "_blank" }, shown);
}
