// Makes elements. Text of documents becomes text nodes, never HTML.

const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element such as `element("p.note", { title: "…" }, "text")`: tag and classes, attributes if any, children.
 *
 * Attributes and children that are false or null are left out; attributes that begin with "on" are listeners.
 */
export const element = (tag, ...parts) => made(HTML, tag, parts);

/** An SVG element; as `element`. */
export const drawing = (tag, ...parts) => made(SVG, tag, parts);

function made(namespace, tag, parts) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElementNS(namespace, name);
  const [attributes, ...children] = parts[0]?.constructor === Object ? parts : [{}, ...parts];
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (isGiven(value)) node.setAttribute(key, value === true ? "" : value);
  }
  if (classes.length) node.classList.add(...classes);
  node.append(...children.flat().filter(isGiven));
  return node;
}

const isGiven = (part) => part !== null && part !== undefined && part !== false;

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
