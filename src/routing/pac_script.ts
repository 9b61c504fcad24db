/**
 * The part of a PAC file that does not depend on the rules, in ES5. It calls no function of the sandbox:
 * those would send names to a resolver that must not see them. It mirrors `RuleIndex`.
 *
 * A group is `[tier rank, port or 0, form, verdict, cluster or -1]`. Forms: 0 any, 1 `<local>`, 2 a Service
 * or cluster address, 3 a name and all below, 4 only below, 5 only the name, 6 a network. Verdicts: 0 direct,
 * 1 through the instance, 2 rejected by the instance.
 */
export const pacScript = `
function add(index, group, keys) {
  var list = keys.split(" "), i;
  for (i = 0; i < list.length; i++) {
    if (index.hasOwnProperty(list[i])) index[list[i]].push(group);
    else index[list[i]] = [group];
  }
}

function rank(group, size, whole) {
  var form = group[2], port = group[1] === 0 ? 0 : 1;
  if (form === 0) return group[0] + port;
  if (form === 1) return group[0] + 2 + port;
  if (form === 2) return group[0] + 900 + port;
  if (form === 5 || (form === 6 && whole)) return group[0] + 1000 + port;
  if (form === 6) return group[0] + 8 + size * 2 + port;
  return group[0] + 8 + size * 4 + port * 2 + (form === 4 ? 1 : 0);
}

function consider(best, groups, port, size, whole) {
  var i, group, value;
  for (i = 0; i < groups.length; i++) {
    group = groups[i];
    if (group[1] !== 0 && group[1] !== port) continue;
    if ((group[2] === 4 && whole) || (group[2] === 5 && !whole)) continue;
    value = rank(group, size, whole);
    if (value > best.rank) { best.rank = value; best.group = group; best.size = size; }
  }
}

function find(rules, host, address, port) {
  var best = { rank: -1, group: null, size: -1 }, index = rules.index;
  function look(key, size, whole) {
    if (index.hasOwnProperty(key)) consider(best, index[key], port, size, whole);
  }
  look("any", 0, false);
  if (address) {
    var lengths = address.length === 4 ? rules.fours : rules.sixes, max = address.length * 8, i;
    for (i = 0; i < lengths.length; i++) look(networkKey(address, lengths[i]), lengths[i], lengths[i] === max);
    look("@" + address.join("."), 0, true);
    return best;
  }
  var at = host.length, size = 0;
  while (at > 0) {
    at = host.lastIndexOf(".", at - 1);
    size++;
    look("." + host.substring(at + 1), size, at < 0);
  }
  if (host.indexOf(".") < 0) look("local", 0, false);
  look("@" + host, 0, true);
  return best;
}

function networkKey(address, bits) {
  var key = bits + "/", i, left;
  for (i = 0; i < address.length; i++) {
    left = bits - i * 8;
    key += (i ? "." : "") + (left >= 8 ? address[i] : left <= 0 ? 0 : address[i] & (256 - (1 << (8 - left))));
  }
  return key;
}

function decide(host, address, port) {
  var best = find(RULES, host, address, port), own;
  if (best.group && best.group[4] >= 0 && OWN.hasOwnProperty(best.group[4])) {
    own = find(OWN[best.group[4]], host, address, port);
    if (own.group) return own;
  }
  return best;
}

function decideUnspecified(host, address, port) {
  var best = decide(host, address, port), four = [127, 0, 0, 1], six = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
  var loopback = decide(host, address.length === 4 ? four : six, port), other;
  if (loopback.rank > best.rank) best = loopback;
  if ((best.group ? best.group[3] : DEFAULT) === 2) return best;
  other = decide(host, address.length === 4 ? six : four, port);
  return other.group && other.group[2] === 6 && other.group[3] === 2 ? other : best;
}

function readNumber(text) {
  if (/^0x[0-9a-f]*$/i.test(text)) return text.length === 2 ? 0 : parseInt(text, 16);
  if (/^0[0-7]*$/.test(text)) return parseInt(text, 8);
  return /^[1-9][0-9]*$/.test(text) ? parseInt(text, 10) : NaN;
}

function readAnyFour(text) {
  var parts = text.replace(/\\.$/, "").split("."), bytes = [], last = readNumber(parts.pop()), i, number;
  if (parts.length > 3 || !(last < Math.pow(256, 4 - parts.length))) return null;
  for (i = 0; i < 4; i++) {
    number = i < parts.length ? readNumber(parts[i]) : Math.floor(last / Math.pow(256, 3 - i)) % 256;
    if (!(number <= 255)) return null;
    bytes.push(number);
  }
  return bytes;
}

function readFour(text) {
  var parts = text.split("."), bytes = [], i;
  if (parts.length !== 4) return null;
  for (i = 0; i < 4; i++) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(parts[i]) || +parts[i] > 255) return null;
    bytes.push(+parts[i]);
  }
  return bytes;
}

function readGroups(text, bytes) {
  if (text === "") return true;
  var parts = text.split(":"), i, four;
  for (i = 0; i < parts.length; i++) {
    if (i === parts.length - 1 && parts[i].indexOf(".") >= 0) {
      four = readFour(parts[i]);
      if (!four) return false;
      bytes.push(four[0], four[1], four[2], four[3]);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(parts[i])) return false;
      bytes.push(parseInt(parts[i], 16) >> 8, parseInt(parts[i], 16) & 255);
    }
  }
  return true;
}

function readAddress(host) {
  if (host.indexOf(":") < 0) return readAnyFour(host);
  var halves = host.split("%")[0].split("::"), head = [], tail = [], i;
  if (halves.length > 2 || !readGroups(halves[0], head)) return null;
  if (halves.length === 2 && !readGroups(halves[1], tail)) return null;
  if (halves.length === 1 ? head.length !== 16 : head.length + tail.length > 14) return null;
  while (head.length + tail.length < 16) head.push(0);
  head = head.concat(tail);
  for (i = 0; i < 12; i++) if (head[i] !== (i < 10 ? 0 : 255)) return head;
  return head.slice(12);
}

function isOpen(ports, port) {
  var i;
  if (!ports || ports.length === 0) return !!ports;
  for (i = 0; i < ports.length; i++) if (ports[i] === port) return true;
  return false;
}

function holdsAddress(address, port, size) {
  var lengths = address.length === 4 ? HOLD.fours : HOLD.sixes, i;
  if (!isOpen(HOLD.addresses, port)) return false;
  for (i = 0; i < lengths.length; i++) {
    if (size >= (address.length === 4 ? 20 : 112) && lengths[i] <= size) continue;
    if (HOLD.index.hasOwnProperty(networkKey(address, lengths[i]))) return true;
  }
  return false;
}

function holdsName(name, port) {
  var labels = name.split("."), last = labels[labels.length - 1], i;
  if (!isOpen(HOLD.names, port) || labels.length > 3) return false;
  for (i = 0; i < labels.length; i++) if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(labels[i])) return false;
  if (labels.length > 1 && HOLD.index.hasOwnProperty("#" + last)) return true;
  if (HOLD.index.hasOwnProperty("@" + (labels.length === 3 ? labels[1] + "." + last : name))) return true;
  if (labels.length > 2 || HOLD.index.hasOwnProperty("!" + last)) return false;
  return labels.length === 1 || !(HOLD.index.hasOwnProperty("!!" + last) || last.substring(0, 4) === "xn--");
}

function isHeld(name, address, port, best) {
  var form = best.group ? best.group[2] : 0;
  if (form === 6) return !!address && best.size < address.length * 8 && holdsAddress(address, port, best.size);
  if (form !== 0) return false;
  return address ? holdsAddress(address, port, -1) : holdsName(name, port);
}

function isUnspecified(address) {
  return /^0+$/.test(address.join(""));
}

function isLoopback(host, address) {
  if (!address) return host === "localhost" || /\\.localhost$/.test(host);
  if (isUnspecified(address)) return true;
  if (address.length === 4) return address[0] === 127;
  return address.join("") === "0000000000000001";
}

function FindProxyForURL(url, host) {
  var ports = { http: 80, ws: 80, https: 443, wss: 443, ftp: 21 };
  var scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url);
  var place = /^[a-z][a-z0-9+.-]*:\\/\\/([^\\/?#]*)/i.exec(url);
  var authority = /^(?:.*@)?(\\[[^\\]]*\\]|[^:]*)(?::([0-9]*))?$/.exec(place ? place[1] : host);
  var name = (authority && authority[1] ? authority[1] : host).toLowerCase();
  var port = authority && authority[2] ? +authority[2] : scheme && ports.hasOwnProperty(scheme[1].toLowerCase()) ? ports[scheme[1].toLowerCase()] : 0;
  name = name.replace(/^\\[(.*)\\]$/, "$1");
  if (name.length > 1 && name.charAt(name.length - 1) === ".") name = name.substring(0, name.length - 1);
  var address = readAddress(name);
  var best = (address && isUnspecified(address) ? decideUnspecified : decide)(name, address, port);
  // Loopback means this machine, unless a more specific rule than the default or "any" routes it.
  if (isLoopback(name, address) && (!best.group || best.group[2] < 2)) return "DIRECT";
  return (best.group ? best.group[3] : DEFAULT) || isHeld(name, address, port, best) ? PROXY : "DIRECT";
}
`.trim();
