/** A word or phrase that no sentence of the project uses, with what to write instead. */
interface Banned {
  readonly pattern: RegExp;
  readonly instead: string;
}

const person = 'name the person or program: "you", "the client", "the server", "another process"';

/** The patterns, over text whose line breaks and comment marks are single spaces. */
const banned: readonly Banned[] = [
  { pattern: /\b(?:who|whom)(?:so)?ever\b/gi, instead: person },
  { pattern: /\b(?:no|some|any)body\b/gi, instead: person },
  { pattern: /\banew\b/gi, instead: '"again"' },
  { pattern: /\bbesides\b/gi, instead: '"also", or a sentence of its own' },
  { pattern: /\bbeside\b/gi, instead: '"next to", "with"' },
  { pattern: /\bunless told\b/gi, instead: 'the default: "(default: …)"' },
  {
    pattern: /\b(?:is|are|be|been|was|were|being|gets?) told\b/gi,
    instead: 'the one who tells: "postern reports …", "the server sends …"',
  },
  { pattern: /\btold of\b/gi, instead: '"informed about", or who reports it' },
  {
    pattern: /\bof (?:ours|yours|theirs|its own|their own)\b/gi,
    instead: '"our", "your", "its", "separate"',
  },
  { pattern: /\b(?:stand|stands|stood|standing) behind\b/gi, instead: '"follows", "is reached through"' },
  { pattern: /\bin the place of\b/gi, instead: '"instead of"' },
  { pattern: /\bfor as long as\b/gi, instead: '"while"' },
  { pattern: /\blest\b/gi, instead: '"so that … not"' },
  { pattern: /\b(?:is|was|be) heard of\b/gi, instead: "who reports it" },
  { pattern: /\bways? (?:in|out)\b(?! (?:which|the))/gi, instead: '"listener" or "transport"' },
  { pattern: /\b(?:is|are|be) in force\b/gi, instead: '"applies"' },
  { pattern: /\b(?:can|cannot|could|may|be|to) be had\b/gi, instead: 'a verb: "is available", "cannot get"' },
  { pattern: /(?<!back|out|in|next )\bdoors?\b/gi, instead: '"instance" or "listener"' },
  { pattern: /\b(?:is|are) asked for\b/gi, instead: 'who asks for it: "postern prompts for …"' },
];

/** The one place of the word. */
const tagline = /one local door into every private cluster/gi;

export interface BannedWord {
  readonly line: number;
  readonly words: string;
  readonly instead: string;
}

/** The banned words of a text of code or prose, with their lines. */
export function bannedWords(text: string): BannedWord[] {
  // Same length as the text, so that offsets stay true: a phrase may break over two lines of a comment.
  const flat = text.replace(tagline, (words) => "-".repeat(words.length)).replace(
    /\s*\n\s*(?:\/\/\/?|\*(?!\/)|>|#)?\s*/g,
    (gap) => " ".repeat(gap.length),
  );
  return banned.flatMap(({ pattern, instead }) => {
    const spaced = new RegExp(pattern.source.replaceAll(" ", " +"), pattern.flags);
    return [...flat.matchAll(spaced)].map(({ 0: words, index }) => ({
      line: text.slice(0, index).split("\n").length,
      words: words.replace(/ +/g, " "),
      instead,
    }));
  }).sort((one, other) => one.line - other.line);
}

/** The sentences of more words than a reader keeps in mind. */
export function longSentences(text: string, most = 40): string[] {
  return text.split(/(?<=[.!?:;])\s+|\n\s*\n/).filter((sentence) =>
    sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length > most
  );
}

/** Files whose words are not the project's: recorded output of others, licenses, what names the banned words. */
const foreign =
  /^(?:LICENSE|deno\.lock|scripts\/banned_words\.ts|docs\/glossary\.md|tests\/earlier\/|tests\/fuzz\/corpus\/|tests\/unit\/scripts\/(?:banned_)?words_test\.ts|docs\/reference\/|dist\/|node_modules\/)|package-lock\.json$|go\.(?:sum|mod)$/;
const prose = /\.(?:ts|js|css|html|md|ya?ml|sh|ps1|go|rs|py|json|txt)$|^\.ci\/run$/;

/** Whether a file of the repository has sentences that we wrote. */
function isOurProse(path: string): boolean {
  return prose.test(path) && !foreign.test(path);
}

/** `deno run --allow-read scripts/banned_words.ts PATH…`: prints each banned word of files and directories. */
if (import.meta.main) {
  let count = 0;
  for (const path of Deno.args) {
    for await (const file of proseFiles(path.replace(/^\.\/|\/$/g, ""))) {
      for (const { line, words, instead } of bannedWords(await Deno.readTextFile(file))) {
        count++;
        console.log(`${file}:${line}: ${words} → ${instead}`);
      }
    }
  }
  console.log(`${count} banned words`);
  if (count > 0) Deno.exit(1);
}

/** The files with our sentences at a path, from the root of the repository. */
export async function* proseFiles(path: string): AsyncGenerator<string> {
  if ((await Deno.stat(path)).isFile) {
    if (isOurProse(path)) yield path;
    return;
  }
  for await (const { name } of Deno.readDir(path)) {
    if (name !== ".git" && name !== "dist") yield* proseFiles(`${path}/${name}`);
  }
}
