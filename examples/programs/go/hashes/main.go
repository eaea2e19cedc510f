// Command hashes computes checksums of its input.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"
	"io"
	"os"
)

func main() {
	hashes := []struct {
		name string
		hash.Hash
	}{
		{"md5", md5.New()}, {"sha1", sha1.New()}, {"sha256", sha256.New()}, {"sha512", sha512.New()},
		{"hmac", hmac.New(sha256.New, []byte("key"))}, {"crc32", crc32.NewIEEE()}, {"adler32", adler32.New()},
		{"fnv", fnv.New128a()},
	}
	var all []io.Writer
	for _, one := range hashes {
		all = append(all, one)
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	for range 20 {
		io.MultiWriter(all...).Write(text)
	}
	for _, one := range hashes {
		fmt.Printf("%-8s%x\n", one.name, one.Sum(nil))
	}

	block, _ := aes.NewCipher(make([]byte, 32))
	sealer, _ := cipher.NewGCM(block)
	sealed := sealer.Seal(nil, make([]byte, 12), text, nil)
	opened, err := sealer.Open(nil, make([]byte, 12), sealed, nil)
	fmt.Printf("%x %v %v\n", sealed[len(sealed)-16:], string(opened) == string(text), err)
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	signature := ed25519.Sign(key, text)
	fmt.Printf("%x %v\n", signature[:8], ed25519.Verify(key.Public().(ed25519.PublicKey), text, signature))
}
