// Starts the page: signs in, and shows the view that the address names.

import { showDocument } from "./document.js";
import { element, visible } from "./elements.js";
import { showQuestions } from "./questions.js";
import { showQueue } from "./queue.js";
import { route } from "./route.js";
import { changeReviewer, signIn } from "./session.js";

const main = document.getElementById("main");
const status = document.getElementById("status");
let end = async () => {};
let shown = Promise.resolve();

function tell(text) {
  status.textContent = visible(text);
}

/** Show the view of the address, after those that are still loading: a late answer must not replace a newer view. */
function show(session) {
  shown = shown.catch(() => {}).then(() => load(session));
  return shown;
}

async function load(session) {
  await end();
  end = async () => {};
  tell("");
  const { number, correct, questions, filters } = route();
  try {
    if (number) end = await showDocument(main, number, tell, correct);
    else if (questions) end = await showQuestions(main, tell);
    else await showQueue(main, filters, session);
  } catch (error) {
    if (error.status === 401) location.reload(); // the session has ended: sign in again
    main.replaceChildren(element("p.problem", { role: "alert" }, visible(error.message)));
  }
}

// A file that is dropped beside the area for it would replace the page.
for (const name of ["dragover", "drop"]) {
  addEventListener(name, (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
}

const session = await signIn();
const reviewer = document.getElementById("reviewer");
reviewer.textContent = visible(session.reviewer);
reviewer.hidden = false;
reviewer.addEventListener("click", () => changeReviewer(session, () => end()));
addEventListener("hashchange", () => show(session));
await show(session);
