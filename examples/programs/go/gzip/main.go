// Command gzip compresses its input at each level and unpacks it again.
package main

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"compress/lzw"
	"fmt"
	"io"
	"os"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	text = bytes.Repeat(text, 5)
	for level := gzip.HuffmanOnly; level <= gzip.BestCompression; level++ {
		var packed bytes.Buffer
		writer, err := gzip.NewWriterLevel(&packed, level)
		if err != nil {
			panic(err)
		}
		writer.Write(text)
		writer.Close()
		size := packed.Len()
		reader, err := gzip.NewReader(&packed)
		if err != nil {
			panic(err)
		}
		back, err := io.ReadAll(reader)
		fmt.Println(level, size, bytes.Equal(back, text), err)
	}
	var packed bytes.Buffer
	writer := lzw.NewWriter(&packed, lzw.LSB, 8)
	writer.Write(text)
	writer.Close()
	fmt.Println("lzw", packed.Len())
	_, err = io.ReadAll(flate.NewReader(bytes.NewReader([]byte{7})))
	fmt.Println("error:", err)
	_, err = io.ReadAll(bzip2.NewReader(bytes.NewReader([]byte("BZh9nothing"))))
	fmt.Println("error:", err)
}
