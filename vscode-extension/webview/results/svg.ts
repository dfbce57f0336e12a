/** Charts and drawings of the server as elements: those parts of SVG that it makes, and nothing else. */

const KNOWN = new Set(['figure', 'figcaption', 'svg', 'g', 'title', 'rect', 'circle', 'line', 'path', 'polyline', 'text', 'tspan', 'a']);
const ATTRIBUTES = new Set(['class', 'role', 'aria-label', 'viewBox', 'width', 'height', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'rx', 'd', 'points', 'text-anchor', 'dy']);
const SVG = 'http://www.w3.org/2000/svg';

/** What a text of the server draws; what is not known in it is left out with all that is in it. */
export function drawingOf(text: string): DocumentFragment {
  const made = document.createDocumentFragment();
  const found = new DOMParser().parseFromString(text, 'text/html').body;
  // A list of what is left, as drawings may be deep.
  const left: [Node, Node][] = [...found.childNodes].map((node) => [node, made]);
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const [node, parent] = next;
    if (node.nodeType === Node.TEXT_NODE) parent.appendChild(document.createTextNode(node.textContent ?? ''));
    if (!(node instanceof Element) || !KNOWN.has(node.localName)) continue;
    const isHtml = node.localName === 'figure' || node.localName === 'figcaption';
    const copy = isHtml ? document.createElement(node.localName) : document.createElementNS(SVG, node.localName === 'a' ? 'g' : node.localName); // links lead nowhere here
    for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) copy.setAttribute(name, value);
    parent.appendChild(copy);
    left.push(...[...node.childNodes].map((child): [Node, Node] => [child, copy]));
  }
  return made;
}
