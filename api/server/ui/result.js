// What a task made, shown as its kind wants it.

import { ask, blobURL, key, saved } from "/ui/api.js";
import { el, icon } from "/ui/dom.js";
import { bytes, duration, money, named, number, t, titled } from "/ui/i18n.js";
import { code, many, plain, prose } from "/ui/long.js";

const largest = 4e6; // bytes of a result that is fetched to be shown

// result is a part of the task's page: kind is null while there is none.
export function result(kind, id, inline, ref, urls) {
  if (!kind || (inline === undefined && !ref)) return null;
  const href = ref?.href || urls.result;
  const body = el("div", {});
  const show = (value) => body.replaceChildren(...[(shapes[kind] || raw)(value, id)].flat().filter(Boolean), kind in shapes ? el("details", { class: "minor" }, el("summary", {}, t("result.json")), code(value)) : "");
  if (inline !== undefined) show(inline);
  else if (ref.bytes > largest) body.append(el("p", { class: "soft" }, t("result.large", { size: bytes(ref.bytes) })));
  else {
    body.append(el("p", { class: "soft" }, t("loading")));
    ask(href).then(show, (problem) => body.replaceChildren(el("p", { class: "bad" }, problem.detail || problem.message)));
  }
  return el("section", { class: "card", id: "result" }, el("div", { class: "line" }, el("h2", { class: "grow" }, t("result.title")),
    href && saved(href, `${id}.json`, icon("down"), t("result.save"))), body);
}

const raw = (value) => code(value);

const failed = (error) => error && el("p", { class: "bad" }, titled(error), ": ", error.detail);

const missing = (list) => list?.length > 0 && el("p", { class: "warn" }, t("result.missing"), " ", list.join(" · "));

function summary({ digest, digest_error: noDigest, documents = [] }) {
  const one = (d) => el("details", { class: "entry", open: documents.length <= 3 }, el("summary", {}, icon("file"), d.name || t("result.document", { n: d.index + 1 }), d.error && el("span", { class: "state failed" }, named("status", "failed"))),
    d.summary && prose(d.summary), failed(d.error), missing(d.missing));
  return [digest && el("div", { class: "digest" }, el("h3", {}, t("result.digest")), prose(digest)), failed(noDigest), many(documents, one)];
}

function qa({ answers = [], documents = [] }) {
  const cited = (c) => el("blockquote", {}, el("p", { class: "pre" }, c.quote), el("footer", { class: "soft" }, [c.name, c.page && t("result.page", { n: c.page }), c.section].filter(Boolean).join(" · ")));
  const one = (a) => el("article", { class: "entry" }, el("h3", {}, a.question),
    a.answer && [el("span", { class: "tag " + (a.supported ? "good" : "warn") }, t(a.supported ? "result.supported" : "result.unsupported")), prose(a.answer)],
    a.note && el("p", { class: "soft" }, a.note), failed(a.error), missing(a.missing),
    a.citations?.length > 0 && el("details", { class: "minor", open: answers.length <= 3 }, el("summary", {}, t("result.citations", { n: a.citations.length })), a.citations.map(cited)));
  const broken = documents.filter((d) => d.error);
  return [many(answers, one), broken.map((d) => el("div", {}, el("b", {}, d.name), failed(d.error)))];
}

function agent({ report, output, stopped_by: stopped, turns, tool_calls: calls }) {
  return [stopped && el("p", { class: "warn" }, t("result.stopped", { by: stopped })), report && prose(report), output !== undefined && code(output),
    turns !== undefined && el("p", { class: "soft" }, t("result.turns", { turns: number(turns), calls: number(calls ?? 0) }))];
}

function video({ videos = [] }) {
  const one = (v) => el("figure", { class: "entry" }, v.href && film(v), failed(v.error),
    el("figcaption", {}, el("p", {}, v.prompt || v.name), el("p", { class: "soft" }, [v.seconds && duration(v.seconds), v.resolution, v.aspect, v.model, money(v.cost)].filter(Boolean).join(" · ")),
      v.href && saved(v.href, v.artifact || "video.mp4", icon("down"), t("result.save"))));
  return many(videos, one);
}

// film plays a video. With a key it has to be fetched whole, so that is only done when it is asked for.
export function film({ href, prompt, name }) {
  const player = (src) => el("video", { controls: true, preload: "metadata", playsinline: true, src, "aria-label": prompt || name });
  if (!href.startsWith("/v1/")) return null; // ours are
  if (!key.get()) return player(href);
  const button = el("button", { onclick: async () => { button.disabled = true; button.replaceWith(player(await blobURL(href))); } }, t("result.play"));
  return button;
}

// rows is the receipt of a task over rows: its rows are in the table of items and in its files.
function rows(r) {
  const fact = (name, value) => value !== undefined && value !== "" && el("div", {}, el("dt", {}, t("rows." + name)), el("dd", {}, value));
  return el("dl", { class: "facts across" }, ["rows", "succeeded", "failed", "copies", "calls", "saved"].map((n) => r[n] !== undefined && fact(n, number(r[n]))), fact("seconds", r.seconds && duration(r.seconds)));
}

const shapes = { summary, qa, agent, video, generate: rows, classify: rows, embed: rows };

// short is the result of an item in the room of a table's cell.
export function short(kind, value) {
  if (value === null || value === undefined) return "";
  if (kind === "classify" && typeof value === "object") return el("div", {}, [value.labels || value.label].flat().filter(Boolean).map((l) => el("span", { class: "tag" }, l)), value.confidence !== undefined && el("span", { class: "soft" }, " ", number(value.confidence, { style: "percent" })));
  if (kind === "embed" && value.vector) return el("code", {}, `[${value.vector.slice(0, 4).map((n) => n.toFixed(4)).join(", ")}, …] ${value.vector.length}`);
  if (kind === "video" && value.href) return film(value);
  const text = value.summary ?? value.answer ?? value.text;
  if (typeof text === "string") return kind === "generate" ? plain(text) : prose(text);
  return code(value);
}
