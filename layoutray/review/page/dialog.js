// Dialogs. The browser keeps the focus inside and gives it back.

import { button, element } from "./elements.js";

/** Show a dialog and resolve with the name of the button that closed it; "" after Escape. */
export function ask(title, content, choices) {
  return new Promise((resolve) => {
    const buttons = choices.map(([name, text, attributes = {}]) =>
      element("button", { value: name, class: name === choices[0][0] ? "primary" : false, ...attributes }, text),
    );
    const heading = element("h2", { id: "dialog-title" }, title);
    const form = element("form", { method: "dialog" }, heading, content, element("div", { class: "choices" }, buttons));
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Show text that can only be closed. */
export function show(title, content) {
  return ask(title, content, [["close", "Close"]]);
}

/** A text with a button that copies it. */
export function copied(text) {
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  return element("div", { class: "command" }, element("code", {}, text), copy);
}
