// Times on pages that move by themselves.

import { el } from "/ui/dom.js";
import { ago, duration, moment, serverTime, t } from "/ui/i18n.js";

// since is how long ago a moment was; the moment itself is in its title.
export const since = (at) => el("time", { datetime: at, title: moment(at), "data-since": at }, ago(at));

// until counts down to a moment.
export const until = (at) => el("time", { datetime: at, title: moment(at), "data-until": at }, left(at));

function left(at) {
  const seconds = (new Date(at) - serverTime()) / 1000;
  return seconds <= 0 ? t("time.any") : t("time.in", { time: duration(seconds) });
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function tick() {
  for (const node of document.querySelectorAll("[data-since]")) put(node, ago(node.dataset.since));
  for (const node of document.querySelectorAll("[data-until]")) put(node, left(node.dataset.until));
}

setInterval(() => document.hidden || tick(), 1000);
