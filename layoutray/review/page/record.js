// Asks for the values of a record whose name is new.

import { ask } from "./dialog.js";
import { element, visible } from "./elements.js";

/** Names of the values of a record; none after Escape. */
export async function askForNames(record) {
  const input = element("input", { id: "value-names", required: true, maxlength: 1000 });
  const text = `No document has a record of the name ${visible(record)}. Names of its values, with commas between`;
  const content = element("p", {}, element("label", { for: "value-names" }, text), input);
  const choice = await ask("New record", content, [["add", "Add"]]);
  if (choice !== "add") return [];
  return input.value.split(",").flatMap((name) => name.trim() || []);
}
