// Two people have changed the same values of a document: shows both, and lets one choose.

import { ask } from "./dialogs.js";
import { element, quoted } from "./elements.js";
import * as api from "./api.js";

/** Ids of the values that are to be as in `mine`. Those of the other person stay in the history in any case. */
export async function resolve(conflicts, mine, theirs) {
  const [own, other] = [mine, theirs.values].map((values) => new Map(values.map((value) => [value.id, value])));
  const history = await api.get(`/review/documents/${theirs.number}/history`).catch(() => []);
  const who = history[0] ? history[0].reviewer : "Somebody else";
  const choices = conflicts.map((id) => choice(id, own.get(id), other.get(id), who));
  const content = element(
    "div",
    element("p", quoted(who), " has changed these values too. Nothing is lost: the history keeps both."),
    choices.map((one) => one.content),
  );
  await ask("Conflict", content, [["save", "Save this choice"]]);
  return new Set(choices.filter((one) => one.takesMine()).map((one) => one.id));
}

function choice(id, mine, theirs, who) {
  const radio = (value, checked) => element("input", { type: "radio", name: id, value, checked });
  const own = radio("mine", false);
  const content = element(
    "fieldset",
    element("legend", quoted((mine ?? theirs).name)),
    element("label", radio("theirs", true), " ", quoted(who), ": ", shown(theirs)),
    element("label", own, " you: ", shown(mine)),
  );
  return { id, content, takesMine: () => own.checked };
}

function shown(value) {
  if (!value || value.state === "removed") return element("em", "removed");
  return quoted(value.text || "no text", { class: "text" });
}
