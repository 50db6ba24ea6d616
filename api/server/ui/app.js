// The frame around the pages: where one can go, the bell, the language, light and dark.

import { bell } from "/ui/bell.js";
import { key } from "/ui/api.js";
import { byId, el, icon } from "/ui/dom.js";
import { hear, start as startFeed } from "/ui/feed.js";
import { language, speak, t } from "/ui/i18n.js";
import { mark, show, start } from "/ui/routes.js";

const places = [["/", "tasks", "tasks"], ["/new", "plus", "new"], ["/dead-letters", "dead", "dead"], ["/system", "system", "system"]];

let connection = "";

function bar() {
  const place = ([path, sign, name]) => el("a", { href: path }, icon(sign), el("span", {}, t("nav." + name)));
  return [
    el("a", { href: "/", class: "brand" }, el("img", { src: "/ui/icon.svg", alt: "", width: 28, height: 28 }), "longhaul"),
    el("nav", { "aria-label": t("nav.label") }, places.map(place)),
    el("div", { class: "tools" },
      el("span", { id: "connection", class: "soft" }),
      bell.button(),
      el("button", { class: "quiet", id: "theme", title: t("theme.change"), "aria-label": t("theme.change"), onclick: turn }, icon("moon")),
      el("button", { class: "quiet", id: "language", lang: language() === "zh" ? "en" : "zh-CN", onclick: translate }, language() === "zh" ? "English" : "中文"),
      el("a", { class: "quiet", href: "/docs", title: t("nav.docs"), "aria-label": t("nav.docs") }, icon("book")),
      el("button", { class: "quiet", id: "forget", hidden: !key.get(), title: t("key.forget"), "aria-label": t("key.forget"), onclick: forget }, icon("key"))),
  ];
}

function draw() {
  byId("bar").replaceChildren(...bar());
  byId("skip").textContent = t("nav.skip");
  tellConnection();
  mark();
}

function tellConnection() {
  byId("connection").className = "connection " + connection;
  byId("connection").textContent = connection ? t("feed." + connection) : "";
  byId("forget").hidden = !key.get();
}

function turn() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

function translate() {
  speak(language() === "zh" ? "en" : "zh");
  draw();
  show();
  byId("language").focus();
}

function forget() {
  key.set(null);
  location.assign("/");
}

speak(language());
draw();
start();
hear({ state: (state) => { connection = state; tellConnection(); }, task: bell.task });
startFeed(new AbortController().signal);
