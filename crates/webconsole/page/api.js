// Requests to the server: a text goes in, results come out.

/** Called when the server asks for a login. */
export const hooks = {login: () => {}};

async function request(path, options) {
  const answer = await fetch(path, {credentials: 'same-origin', cache: 'no-store', ...options});
  let body = {};
  try {
    body = await answer.json();
  } catch {
    throw new Error(`The server's answer is broken (${answer.status}).`);
  }
  if (answer.ok) return body;
  const error = new Error(body.error || `The server answered ${answer.status}.`);
  error.status = answer.status;
  if (answer.status === 401 && path !== '/api/login') hooks.login();
  throw error;
}

/** Who is logged in. */
export const me = () => request('/api/me');

/** Logs in. */
export function login(user, password) {
  return request('/api/login', {method: 'POST', body: new URLSearchParams({user, password})});
}

/** Logs out. */
export const logout = () => request('/api/logout', {method: 'POST'});

/** Cancels the query of the query page. */
export const cancel = () => request('/api/cancel', {method: 'POST'});

function sql(path, text) {
  return request(path, {method: 'POST', body: text, headers: {'Content-Type': 'application/sql'}});
}

/** Runs a text on the query page's own session; errors are among the messages. */
export const query = text => sql('/api/query', text);

/** Runs a text; returns its results, each an array of rows with the columns' names. Throws the first error. */
export async function read(text) {
  const answer = await sql('/api/read', text);
  const error = answer.messages.find(message => message.severity > 10);
  if (error) throw Object.assign(new Error(`${error.text} (${error.number})`), {number: error.number});
  return answer.results.map(result => {
    const names = result.columns.map(column => column.name);
    const rows = result.rows.map(row => Object.fromEntries(row.map((value, at) => [names[at] || `column${at + 1}`, value])));
    rows.columns = result.columns;
    return rows;
  });
}

/** A text as a literal. */
export const literal = text => `N'${String(text).replaceAll("'", "''")}'`;
