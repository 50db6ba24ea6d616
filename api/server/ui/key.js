// Asks for the API key, once for all who wait for it.

import { el } from "/ui/dom.js";
import { t } from "/ui/i18n.js";

let asking = null;

// askForKey shows the question and gives the key that is typed in; refused says that one was tried already.
export function askForKey(refused) {
  asking ??= shown(refused).finally(() => { asking = null; });
  return asking;
}

function shown(refused) {
  return new Promise((done) => {
    const field = el("input", { id: "key", type: "password", autocomplete: "off", required: true, "aria-describedby": "key-note" });
    const send = (event) => {
      event.preventDefault();
      if (!field.value.trim()) return;
      dialog.close();
      dialog.remove();
      done(field.value.trim());
    };
    const dialog = el("dialog", { id: "login", "aria-labelledby": "key-title" },
      el("form", { onsubmit: send },
        el("h2", { id: "key-title" }, t("key.title")),
        el("p", { id: "key-note", class: refused ? "bad" : "soft" }, t(refused ? "key.refused" : "key.note")),
        el("label", { for: "key" }, t("key.label")), field,
        el("button", { class: "main" }, t("key.send"))));
    dialog.addEventListener("cancel", (event) => event.preventDefault()); // nothing can be shown without it
    document.body.append(dialog);
    dialog.showModal();
  });
}
