// Makes elements. Text of documents becomes text nodes, never HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that are false or null are left out; those that begin with "on" are listeners. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element; as `element`. */
export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A button with a text. */
export function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

/** Text of a document, isolated from the direction of the text around it. */
export function quoted(text, attributes = {}) {
  return element("bdi", attributes, visible(text));
}

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The text with a visible sign in place of each control character, such as one that turns the direction of writing. */
export function visible(text) {
  return text.replace(CONTROLS, (character) => {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `\u27e8U+${code}\u27e9`;
  });
}

/** Tell people who listen to the page. */
export function announce(text) {
  document.getElementById("announcement").textContent = text;
}
