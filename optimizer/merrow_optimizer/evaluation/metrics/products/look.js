// What a visitor sees of a page: texts and the map. Evaluated in a world of its own, so nothing that the page redefines holds here.
(() => {
  const shown = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      const clipped = style.clipPath !== 'none' && /inset\((?:50|100)%/.test(style.clipPath);
      if (clipped || (style.position === 'absolute' && /rect\(0(px)?,? 0/.test(style.clip))) return false;
    }
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  };
  const inPage = (box) => box.width > 1 && box.height > 1 && box.right > 0 && box.bottom + scrollY > 0
    && box.left < Math.max(innerWidth, document.documentElement.scrollWidth);
  const readable = (element) => {
    const style = getComputedStyle(element);
    const alpha = /^rgba\(.*, 0\)$/.test(style.color);
    return parseFloat(style.fontSize) >= 5 && !alpha;
  };
  const textOf = (root) => {
    if (!root) return null;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const parts = [];
    let length = 0;
    for (let node = walker.nextNode(); node && length < 200000; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!parent || !node.data.trim() || !shown(parent) || !readable(parent)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      if (!inPage(range.getBoundingClientRect())) continue;
      parts.push(node.data.trim());
      length += node.data.length;
    }
    return parts.join(' ');
  };
  const mapOf = (venue) => {
    if (!venue) return null;
    const found = [];
    for (const each of venue.querySelectorAll('svg, img, iframe, canvas, object')) {
      const box = each.getBoundingClientRect();
      const address = each.getAttribute('src') || each.getAttribute('data') || '';
      const remote = /^(https?:)?\/\//i.test(address);
      const drawn = each.matches('svg') ? each.querySelector('path, rect, circle, line, polygon, polyline, image, ellipse') !== null
        : each.matches('img') ? each.naturalWidth > 0 || (remote && /map|osm/i.test(address))
        : each.matches('canvas') ? true : address !== '' && (!remote || /map|osm/i.test(address));
      const seen = shown(each) && inPage(box) && box.width >= 100 && box.height >= 100;
      if (seen && drawn) return each.localName;
      const why = seen && !drawn ? ' that shows nothing' : '';
      found.push(`<${each.localName}> of ${Math.round(box.width)} x ${Math.round(box.height)}${why}`);
    }
    return found.length ? { not: found[0] } : { not: '' };
  };
  const venue = document.getElementById('venue');
  return {
    address: location.href, title: document.title, all: textOf(document.body),
    schedule: textOf(document.getElementById('schedule')), venue: textOf(venue), map: mapOf(venue),
  };
})()
