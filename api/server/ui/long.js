// Things of any length: the beginning is shown at once, the rest when it is asked for.

import { el } from "/ui/dom.js";
import { number, t } from "/ui/i18n.js";
import { markdown } from "/ui/markdown.js";

const preview = 4000; // characters
const batch = 20; // things of a list

// text shows a text, made into elements by draw.
function text(value, draw) {
  if (value.length <= preview * 1.5) return draw(value);
  const box = el("div", { class: "long" });
  const whole = () => box.replaceChildren(draw(value));
  box.append(draw(value.slice(0, preview).replace(/[\ud800-\udbff]$/, "") + " …"),
    el("button", { onclick: whole }, t("long.all", { n: number(value.length) })));
  return box;
}

export const prose = (value) => text(String(value ?? ""), markdown);

export const plain = (value) => text(String(value ?? ""), (v) => el("p", { class: "pre" }, v));

export const code = (value) => text(typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "", (v) => el("pre", {}, v));

// many shows a list a batch at a time.
export function many(values, draw) {
  const box = el("div", { class: "many" });
  const more = el("button", {});
  let shown = 0;
  const next = () => {
    more.before(...values.slice(shown, shown + batch).map(draw));
    shown = Math.min(values.length, shown + batch);
    more.hidden = shown === values.length;
    more.textContent = t("long.more", { n: number(values.length - shown) });
  };
  more.addEventListener("click", next);
  box.append(more);
  next();
  return box;
}
