/**
 * Labels are words. Mermaid lets most of HTML into them, also what a reader could type into, press or open, and names that the
 * preview gives meaning to.
 */

const HTML = 'http://www.w3.org/1999/xhtml';
/** The elements that a label keeps: words, their looks and their order. */
const KEPT = new Set(
  (
    'a abbr b big blockquote br center cite code dd del dfn div dl dt em font h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp ' +
    'small span strike strong sub sup table tbody td tfoot th thead tr tt u ul var wbr'
  ).split(' '),
);
/** Of these not even the words are the label's. */
const DROPPED = new Set('audio base canvas embed frame frameset iframe input link meta noscript object option script select style template textarea title video'.split(' '));
const ATTRIBUTES = new Set('align alt class color colspan dir face height href lang rowspan size src style title width xmlns'.split(' '));

/** The same for Mermaid, which measures labels: room is made for what is left alone. It is not relied on. */
export const WORDS = { ALLOWED_TAGS: [...KEPT], ALLOWED_ATTR: [...ATTRIBUTES, 'href', 'target'], ALLOW_DATA_ATTR: false };

/** Take all that is not words out of a picture's labels; the words of what is taken away stay. */
export function onlyWords(picture: SVGSVGElement): void {
  // In the order of the document, so that what an element hands over to its parent is looked at later.
  for (const element of picture.querySelectorAll('foreignObject *')) {
    if (!picture.contains(element)) continue;
    if (element.namespaceURI !== HTML) continue;
    if (DROPPED.has(element.localName)) {
      element.remove();
      continue;
    }
    if (!KEPT.has(element.localName)) {
      element.replaceWith(...element.childNodes);
      continue;
    }
    // From another address, where the page loads nothing from.
    if (element.localName === 'img' && !/^data:image\//i.test(element.getAttribute('src') ?? '')) {
      element.replaceWith(element.getAttribute('alt') ?? '');
      continue;
    }
    for (const name of element.getAttributeNames()) if (!ATTRIBUTES.has(name)) element.removeAttribute(name);
  }
}
