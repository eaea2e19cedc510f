package main

import (
	"hash/crc32"
	"unsafe"
)

// hostFunction is a function of the host, which knows it by its name.
type hostFunction struct {
	hash int64
	name []byte
}

func hostFunctionOf(name string) hostFunction {
	// The name, ended by a zero, is for the error if the host has no such function.
	return hostFunction{int64(int32(crc32.ChecksumIEEE([]byte(name)))), append([]byte(name), 0)}
}

// call is in host_riscv64.s. All goroutines wait until the host's function returns.
//
//go:noescape
func call(hash int64, name *byte, a0, a1, a2 uintptr) (result uintptr)

// call calls the function. What an argument is the address of stays where it is until then, if the argument is written as
// uintptr(unsafe.Pointer(..)).
//
//go:uintptrescapes
func (f hostFunction) call(a0, a1, a2 uintptr) uintptr {
	return call(f.hash, &f.name[0], a0, a1, a2)
}

var (
	addScoreFunction = hostFunctionOf("Game::add_score")
	announceFunction = hostFunctionOf("Game::announce")
)

func addScore(points int64) int64 {
	return int64(addScoreFunction.call(uintptr(points), 0, 0))
}

func announce(text string) {
	// An address and a length, as the host's Slice has it.
	announceFunction.call(uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(len(text)), 0)
}
