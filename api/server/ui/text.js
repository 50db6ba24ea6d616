// What a model is writing at the moment, as it comes: one box for each item.

import { el } from "/ui/dom.js";
import { t } from "/ui/i18n.js";

const boxes = 4; // items shown at once: the last that wrote
const most = 20000; // characters of each that are kept

export function liveText() {
  const root = el("section", { class: "card", id: "live", hidden: true });
  const shown = new Map(); // item -> {node, text, from}
  root.append(el("h2", {}, t("live.title")));

  // box is the place of an item. The one that has been silent longest makes room for a new one.
  function box(item) {
    if (!shown.has(item)) {
      const node = el("pre", { class: "writing" });
      const whole = el("div", {}, Number.isInteger(item) && el("h3", { class: "soft" }, t("live.item", { n: item + 1 })), node);
      shown.set(item, { node, whole, text: "", at: -1 });
      root.append(whole);
      if (shown.size > boxes) drop(shown.keys().next().value);
    }
    const found = shown.get(item);
    shown.delete(item);
    shown.set(item, found);
    return found;
  }

  function drop(item) {
    shown.get(item).whole.remove();
    shown.delete(item);
  }

  return {
    root,
    // add takes a frame {item, offset, text, restart}. What is sent again after a cut has an offset that was seen.
    add({ item = null, offset = 0, text = "", restart = false }) {
      const b = box(item);
      if (restart || offset === 0) Object.assign(b, { text: "", at: -1 });
      if (offset <= b.at) return;
      b.at = offset;
      b.text = (b.text + text).slice(-most);
      b.node.textContent = b.text;
      b.node.scrollTop = b.node.scrollHeight;
      root.hidden = false;
    },
    end() {
      root.hidden = true;
    },
  };
}
