// What a visitor sees of a page: texts and the map. Evaluated in a world of its own, so nothing that the page redefines holds here.
(() => {
  const shown = (element) => {
    let opacity = 1;
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      opacity *= parseFloat(style.opacity);
      if (opacity < 0.1 || /opacity\(0(?:\.0\d*)?%?\)/.test(style.filter)) return false;
      const clipped = style.clipPath !== 'none' && /inset\((?:50|100)%/.test(style.clipPath);
      if (clipped || (style.position === 'absolute' && /rect\(0(px)?,? 0/.test(style.clip))) return false;
    }
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  };
  const inPage = (box) => box.width > 1 && box.height > 1 && box.right > 0 && box.bottom + scrollY > 0
    && box.left < Math.max(innerWidth, document.documentElement.scrollWidth);
  // Whether something at this place is cut off by what is around it, as in a fold that a click opens.
  const cutOff = (element, box) => {
    let free = false;
    for (let each = element; each && each !== document.body && each !== document.documentElement; each = each.parentElement) {
      const style = getComputedStyle(each);
      const clips = /hidden|clip/.test(style.overflowX + style.overflowY) && !/^inline$|^contents$/.test(style.display);
      if (clips && !(free && style.position === 'static')) {
        const own = each.getBoundingClientRect();
        const width = Math.min(own.right, box.right) - Math.max(own.left, box.left);
        const height = Math.min(own.bottom, box.bottom) - Math.max(own.top, box.top);
        if (width <= 1 || height <= 1) return true;
      }
      if (style.position === 'fixed') return false;
      free = style.position === 'absolute' || (free && style.position === 'static');
    }
    return false;
  };
  const readable = (element) => {
    const style = getComputedStyle(element);
    const faint = [style.color, style.webkitTextFillColor].some((each) => /^rgba\(.*, 0(?:\.0\d*)?\)$/.test(each));
    return parseFloat(style.fontSize) >= 5 && !faint;
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
      const box = range.getBoundingClientRect();
      if (!inPage(box) || cutOff(parent, box)) continue;
      parts.push(node.data.trim());
      length += node.data.length;
    }
    return parts.join(' ');
  };
  const SHAPES = 'path, rect, circle, line, polygon, polyline, image, ellipse, use';
  const hasShape = (svg) => [...svg.querySelectorAll(SHAPES)].some((each) => {
    const box = each.getBoundingClientRect();
    return box.width + box.height > 2 && shown(each);
  });
  const isPainted = (canvas) => {
    const blank = document.createElement('canvas');
    [blank.width, blank.height] = [canvas.width, canvas.height];
    try {
      return canvas.toDataURL() !== blank.toDataURL();
    } catch {
      return true; // It has a picture of elsewhere.
    }
  };
  // A frame of the product's own pages shows something where its page does.
  const showsPage = (frame) => {
    const inside = frame.contentDocument;
    return inside !== null && inside.body !== null
      && (inside.body.innerText.trim() !== '' || inside.querySelector('svg, img, canvas') !== null);
  };
  const mapOf = (venue) => {
    if (!venue) return null;
    const found = [];
    for (const each of venue.querySelectorAll('svg, img, iframe, canvas, object')) {
      const box = each.getBoundingClientRect();
      const address = each.getAttribute('src') || each.getAttribute('data') || '';
      const remote = /^(https?:)?\/\//i.test(address);
      const named = remote && /map|osm/i.test(address);
      const drawn = each.matches('svg') ? hasShape(each)
        : each.matches('img') ? named || Math.min(each.naturalWidth, each.naturalHeight) >= 16
        : each.matches('canvas') ? isPainted(each)
        : each.matches('iframe') ? named || (!remote && showsPage(each))
        : named || (!remote && address !== '' && !/^\s*(?:about|data|javascript):/i.test(address));
      const seen = shown(each) && inPage(box) && !cutOff(each.parentElement, box) && box.width >= 100 && box.height >= 100;
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
