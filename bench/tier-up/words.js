// Strings, maps, regular expressions, JSON, closures and floats; its value is a sum.
let sum = 0;
for (let round = 1; round <= rounds; round++) {
  const words = [];
  for (let i = 1; i <= 1000; i++) words.push("w" + ((i * 7919 + round) % 997));
  const seen = new Map();
  for (const word of words) seen.set(word, (seen.get(word) ?? 0) + 1);
  words.sort();
  const line = words.join(" ");
  for (const [word, count] of seen) sum = (sum + count * word.length) % 1000003;
  sum += (line.match(/w\d5\d?/g) ?? []).length;
  const copy = JSON.parse(JSON.stringify({ words: words.slice(0, 200), round }));
  sum += copy.words.map((word) => word.toUpperCase()).filter((word) => word.endsWith("7")).length;
  let x = 0.5;
  for (let i = 0; i < 3000; i++) x = 3.7 * x * (1 - x);
  sum += Math.floor(x * 1000);
  if (round % (Math.floor(rounds / 100) + 1) == 0) progress();
}
`sum ${sum}`;
