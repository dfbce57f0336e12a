/** Addresses of model endpoints, and the origins that keys belong to. */

/** Where the hosted service answers when nothing else is said. */
export const hosted = 'https://api.openai.com/v1';

/** What takes the place of an address for the embedded model. */
export const offline = { url: 'offline', origin: 'merrow:offline' } as const;

export type Address = { readonly url: string; readonly origin: string } | { readonly problem: string };

/** What an endpoint's address as given means. */
export function address(given: string): Address {
  let url: URL;
  try {
    url = new URL(given.trim());
  } catch {
    return { problem: 'it is not an address; one looks like http://localhost:11434/v1.' };
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { problem: 'its address must begin with http:// or https://.' };
  if (url.username !== '' || url.password !== '') return { problem: 'its address holds a user name or a password; set a key in their place.' };
  if (url.search !== '' || url.hash !== '') return { problem: 'its address must end with its path, without ? or #.' };
  return { url: url.href.replace(/\/+$/, ''), origin: url.origin };
}
