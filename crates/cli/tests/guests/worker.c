// Does so much work, or goes wrong as its argument says.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) uint64_t work(uint64_t times) {
  uint64_t sum = times;
  for (uint64_t i = 0; i < times; i++) {
    sum = sum * 6364136223846793005u + 1442695040888963407u;
    sum ^= sum >> 29;
  }
  return sum;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "fail") == 0) return 3;
  if (strcmp(how, "trap") == 0) abort();
  volatile int hang = strcmp(how, "hang") == 0;
  while (hang) {}
  uint64_t sum = 0;
  for (int i = 0; i < ROUNDS; i++) sum += work(10000 + (sum & 1));
  printf("%llx\n", (unsigned long long)sum);
  return 0;
}
