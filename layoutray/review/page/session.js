// Who is at the page.

import * as api from "./api.js";
import { ask } from "./dialogs.js";
import * as drafts from "./drafts.js";
import { element, visible } from "./elements.js";

const PATH = "/review/session";
const NAME = "layoutray-reviewer";

/** The session: the one that there is, or a new one. Asks for a key where one is needed. */
export async function signIn() {
  let session = await api.get(PATH);
  for (let problem = ""; !session.signed_in;) {
    try {
      session = await api.post(PATH, session.needs_key ? await askForKey(problem) : { reviewer: remembered() });
    } catch (error) {
      if (!(error instanceof api.RequestError)) throw error;
      problem = error.message;
    }
  }
  api.useToken(session.token);
  drafts.removeOthers(session.account);
  return session;
}

/** Ask who is at the page, or sign out, and load the page again. `save` saves what is not saved. */
export async function changeReviewer(session, save) {
  const name = element("input", { id: "name", value: session.reviewer, autocomplete: "name", maxlength: 64 });
  const content = element("p", element("label", { for: "name" }, "Your name, for the history"), name);
  const leave = session.needs_key ? [["leave", "Sign out"]] : [];
  const choice = await ask("Reviewer", content, [["save", "Save"], ...leave, ["", "Cancel"]]);
  if (!choice) return;
  localStorage.setItem(NAME, choice === "save" ? name.value : "");
  await save();
  await api.remove(PATH);
  if (choice === "leave") drafts.removeAll();
  location.reload();
}

async function askForKey(problem) {
  const key = element("input", { id: "key", type: "password", autocomplete: "current-password", required: true });
  const name = element("input", { id: "name", autocomplete: "name", maxlength: 64, value: remembered() });
  const content = element(
    "div",
    problem ? element("p.problem", { role: "alert" }, visible(problem)) : null,
    element("p", element("label", { for: "key" }, "Key of the endpoint, with the scope review"), key),
    element("p", element("label", { for: "name" }, "Your name, for the history"), name),
  );
  await ask("Sign in", content, [["in", "Sign in"]]);
  localStorage.setItem(NAME, name.value);
  return { key: key.value, reviewer: name.value };
}

function remembered() {
  return localStorage.getItem(NAME) ?? "";
}
