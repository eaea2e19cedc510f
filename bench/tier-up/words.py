# Strings, dictionaries, classes and floats: `python words.py ROUNDS`.
import re
import sys


class Total:
    def __init__(self):
        self.sum = 0

    def add(self, amount):
        self.sum = (self.sum + amount) % 1000003


total = Total()
rounds = int(sys.argv[1])
for round in range(rounds):
    words = ["w%d" % ((i * 7919 + round) % 997) for i in range(2000)]
    seen = {}
    for word in words:
        seen[word] = seen.get(word, 0) + 1
    words.sort()
    for word, count in seen.items():
        total.add(count * len(word))
    total.add(len(re.findall(r"w\d5\d?", " ".join(words))))
    x = 0.5
    for _ in range(5000):
        x = 3.7 * x * (1 - x)
    total.add(int(x * 1000))
    if round % (rounds // 100 + 1) == 0:
        print(".", file=sys.stderr)
print("sum", total.sum)
