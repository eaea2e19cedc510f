// ECDSA verification: four signatures made first, then verified over and over, every fifth time
// against a message that was not signed.
#include "bench.h"

#include <secp256k1.h>
#include <secp256k1_preallocated.h>
#include <string.h>

// The crate that carries the library puts its version into every name.
#define SECP(name) rustsecp256k1_v0_14_##name

enum { KEYS = 4 };

struct signed_message {
    SECP(pubkey) key;
    SECP(ecdsa_signature) signature;
    unsigned char hash[32];
};

static void require(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

int main(int argc, char **argv) {
    uint64_t verifications = bench_size(argc, argv);
    size_t size = SECP(context_preallocated_size)(SECP256K1_CONTEXT_NONE);
    void *room = malloc(size);
    require(room != NULL, "malloc");
    SECP(context) *context = SECP(context_preallocated_create)(room, SECP256K1_CONTEXT_NONE);

    uint64_t checksum = BENCH_CHECKSUM_START;
    struct signed_message messages[KEYS];
    for (int i = 0; i < KEYS; i++) {
        struct signed_message *m = &messages[i];
        unsigned char secret[32];
        memset(secret, 0x11 + i, sizeof secret);
        memset(m->hash, 0xa0 + i, sizeof m->hash);
        require(SECP(ec_pubkey_create)(context, &m->key, secret), "making a public key");
        require(SECP(ecdsa_sign)(context, &m->signature, m->hash, secret, NULL, NULL), "signing");
        unsigned char compact[64];
        SECP(ecdsa_signature_serialize_compact)(context, compact, &m->signature);
        checksum = bench_checksum(checksum, compact, sizeof compact);
    }

    for (uint64_t i = 0; i < verifications; i++) {
        struct signed_message *m = &messages[i % KEYS];
        unsigned char hash[32];
        memcpy(hash, m->hash, sizeof hash);
        hash[0] ^= i % 5 == 4;
        unsigned char valid = SECP(ecdsa_verify)(context, &m->signature, hash, &m->key) != 0;
        checksum = bench_checksum(checksum, &valid, 1);
    }
    return bench_report(checksum);
}
